/** What etcd's keys and the logs of the hosts say about a moment of a run: why its slowest requests took so long. */
import { EtcdClient } from '../../../src/cluster/etcd/etcd-client.ts'
import type { Host } from './host.ts'
import type { SlowRequest } from './waits.ts'

interface Moment {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly text: string
}

const PREFIX = '/nightledger/'
/** What happened just before a request is often why it waits. */
const BEFORE_MS = 300
const LINES_MAX = 60
const LOGGED = ['nightledger', 'patroni'] as const
/** Ends of the times that logs begin with: pino and zap, Patroni, PostgreSQL. All programs run in UTC. */
const TIMES = [/"(?:time|ts)":"([^"]+)"/, /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3})/]

export class Trace {
  readonly #hosts: readonly Host[]
  readonly #closing = new AbortController()
  readonly #claims: (Moment & { readonly shard: number })[] = []

  constructor(hosts: readonly Host[]) {
    this.#hosts = hosts
    void this.#watch()
  }

  /** One line for each thing that happened to the shard of a request, or was logged anywhere, while it waited. */
  of({ ms, request: { shard, since, id, attempts } }: SlowRequest): string {
    const from = performance.timeOrigin + since
    const isWithin = ({ at }: Moment) => at >= from - BEFORE_MS && at <= from + ms
    const claims = this.#claims.filter((moment) => moment.shard === shard && isWithin(moment))
    const logged = this.#hosts.flatMap((host) =>
      LOGGED.flatMap((unit) => momentsOf(host, unit).filter((moment) => isWithin(moment) && isOf(moment, id))),
    )
    const lines = withoutRepetitions([...claims, ...logged].toSorted((a, b) => a.at - b.at))
    const cut = lines.length > LINES_MAX ? [`  … ${lines.length - LINES_MAX} more`] : []
    return [
      `${id}: ${attempts.join(', ')}`,
      ...lines.slice(0, LINES_MAX).map(({ at, text }) => `  ${(at - from).toFixed(0).padStart(6)} ms ${text}`),
      ...cut,
    ].join('\n')
  }

  close(): void {
    this.#closing.abort()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    const origins = this.#hosts.map(({ address }) => `http://${address}:2379`)
    const etcd = new EtcdClient({ origins, user: null })
    let fromRevision = 1
    while (!signal.aborted) {
      await etcd.watch({ prefix: PREFIX, fromRevision, signal }, (entries) => {
        for (const { key, value, revision } of entries) {
          fromRevision = revision + 1
          const [, shard] = /\/shards\/(\d+)$/.exec(key) ?? []
          const at = performance.timeOrigin + performance.now()
          if (shard !== undefined) this.#claims.push({ at, shard: Number(shard), text: `etcd: ${value ?? 'no owner'}` })
        }
      })
      await Bun.sleep(100)
    }
  }
}

/** Of failures that differ only in their numbers, the first. */
function withoutRepetitions(moments: readonly Moment[]): Moment[] {
  const seen = new Set<string>()
  return moments.filter(({ text }) => {
    if (!/FATAL|LOG: |"err":/.test(text)) return true
    const kind = text.replace(/(?<!host)\d+/g, '')
    const isNew = !seen.has(kind)
    seen.add(kind)
    return isNew
  })
}

function momentsOf(host: Host, unit: string): Moment[] {
  return host
    .log(unit)
    .split('\n')
    .flatMap((line) => {
      const at = timeOf(line)
      return at === null ? [] : { at, text: `${host.name} ${unit}: ${line.slice(0, 240)}` }
    })
}

function timeOf(line: string): number | null {
  for (const pattern of TIMES) {
    const [, text] = pattern.exec(line) ?? []
    if (text !== undefined) return Date.parse(`${text.replace(' ', 'T').replace(',', '.').replace(/Z$/, '')}Z`)
  }
  return null
}

/** With LOG_LEVEL=debug a node logs every request: only those of this one are wanted. */
function isOf({ text }: Moment, id: string): boolean {
  return !text.includes('"level":20') || text.includes(id)
}
