/** A group of processes that gets a share of the CPUs, in either version of cgroups. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const VERSION_1 = '/sys/fs/cgroup/cpu'
const PERIOD_US = 50_000
/** The most that there is: its limit alone says what a group gets, and not what else runs on the machine. */
const WEIGHT_MAX = { version1: 262_144, version2: 10_000 }

/** Since the group was made. */
interface CpuPeriods {
  /** In which something was to run under a limit, and of them those that used up the share. */
  readonly limited: number
  readonly throttled: number
}

export class CpuGroup {
  readonly #folder: string
  readonly #periodUs: number

  /**
   * @param periodUs in which the group gets its share: once it has used that up, it pauses until the next one
   * @throws Error when the machine does not allow groups
   */
  constructor(name: string, periodUs = PERIOD_US) {
    this.#periodUs = periodUs
    this.#folder = join(existsSync(VERSION_1) ? VERSION_1 : '/sys/fs/cgroup', name)
    mkdirSync(this.#folder, { recursive: true })
    if (existsSync(VERSION_1)) this.#write('cpu.shares', WEIGHT_MAX.version1)
    else this.#write('cpu.weight', WEIGHT_MAX.version2)
  }

  /** A shell command that moves the shell, and whatever it starts, into the group. */
  get joining(): string {
    return `echo $$ >${this.#folder}/cgroup.procs`
  }

  /** Moves a running process into the group, with all that it starts from now on. */
  add(pid: number): void {
    this.#write('cgroup.procs', pid)
  }

  /** How many CPUs the group gets at most, from now on; null: as many as there are. */
  limit(cpus: number | null): void {
    const quotaUs = cpus === null ? null : Math.round(cpus * this.#periodUs)
    if (existsSync(VERSION_1)) {
      this.#write('cpu.cfs_period_us', this.#periodUs)
      this.#write('cpu.cfs_quota_us', quotaUs ?? -1)
    } else this.#write('cpu.max', `${quotaUs ?? 'max'} ${this.#periodUs}`)
  }

  get periods(): CpuPeriods {
    const text = readFileSync(join(this.#folder, 'cpu.stat'), 'utf8')
    const of = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    return { limited: of('nr_periods'), throttled: of('nr_throttled') }
  }

  /** Processes in it, in no order. */
  get pids(): number[] {
    return readFileSync(join(this.#folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
  }

  /** Once its processes have ended. */
  remove(): void {
    for (let attempt = 0; existsSync(this.#folder) && attempt < 50; attempt++) {
      try {
        rmdirSync(this.#folder)
      } catch {
        Bun.sleepSync(20)
      }
    }
  }

  #write(file: string, value: string | number): void {
    writeFileSync(join(this.#folder, file), String(value))
  }
}
