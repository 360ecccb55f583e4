/** Starts everything that a comparison needs: Postgres with seeded data, service, peer, floor and load generators. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadAsked, LoadResult } from './load/load-process.ts'
import { sourceOf } from './load/requests.ts'
import type { Arm, Server } from './scenarios.ts'
import { JsonChild } from './support/json-child.ts'
import {
  type BenchPostgres,
  cpuSecondsOf,
  cpuSecondsOfFamily,
  residentMbOf,
  type ServiceHandle,
  startPostgres,
  startService,
} from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import type { WorldSize } from './world/world.ts'

export interface Sample extends LoadResult {
  readonly serverCpuMs: number
  readonly postgresCpuMs: number
  readonly residentMb: number
}

export class Harness {
  readonly postgres: BenchPostgres
  readonly databaseUrl: string
  readonly #size: WorldSize
  readonly #service: ServiceHandle
  readonly #peer: JsonChild
  readonly #floor: JsonChild
  readonly #load: JsonChild
  readonly #besideLoad: JsonChild
  readonly #urls: Record<Server, string>
  /** By server and number of units: which nights are sold. */
  readonly #sold = new Map<string, number>()

  private constructor(options: {
    postgres: BenchPostgres
    databaseUrl: string
    size: WorldSize
    service: ServiceHandle
    peer: JsonChild
    floor: JsonChild
    urls: Record<Server, string>
  }) {
    this.postgres = options.postgres
    this.databaseUrl = options.databaseUrl
    this.#size = options.size
    this.#service = options.service
    this.#peer = options.peer
    this.#floor = options.floor
    this.#urls = options.urls
    this.#load = JsonChild.start(join(import.meta.dir, 'load/load-process.ts'))
    this.#besideLoad = JsonChild.start(join(import.meta.dir, 'load/load-process.ts'))
  }

  static async open(
    size: WorldSize,
    onStep: (step: string) => void,
    serviceFlags: readonly string[] = [],
  ): Promise<Harness> {
    onStep('starting Postgres')
    const postgres = await startPostgres()
    try {
      const { url, sql } = await postgres.createDatabase('bench')
      await seedLedger(sql, size, onStep)
      onStep("copying the peer's rows")
      await sql.unsafe(readFileSync(join(import.meta.dir, 'peer/schema.sql'), 'utf8'))
      await sql`vacuum analyze`
      await sql`checkpoint`
      const service = await startService(url, { RESIDENT_UNITS_MAX: '200000', LOG_LEVEL: 'info' }, serviceFlags)
      const peer = JsonChild.start(join(import.meta.dir, 'peer/server.ts'), { DATABASE_URL: url, ...poolOfPeer() })
      const floor = JsonChild.start(join(import.meta.dir, 'floor.ts'))
      const [peerUrl, floorUrl] = [(await peer.told<Up>()).url, (await floor.told<Up>()).url]
      const urls = { nightledger: service.baseUrl, peer: peerUrl, floor: floorUrl }
      const harness = new Harness({ postgres, databaseUrl: url, size, service, peer, floor, urls })
      onStep('touching every unit once, so that all are resident')
      await harness.touchEveryUnit()
      return harness
    } catch (error) {
      await postgres.stop()
      throw error
    }
  }

  get servicePid(): number {
    return this.#service.pid
  }

  /** Gives the floor the service's own answer to such a request. */
  async prepareFloor(arm: Arm): Promise<void> {
    const { bytes } = sourceOf({ kind: arm.kind, size: this.#size, firstSale: 0 }).next()
    const [head = '', body = ''] = bytes.toString().split('\r\n\r\n')
    const [line = '', ...fields] = head.split('\r\n')
    const [method = 'GET', path = '/'] = line.split(' ')
    const answer = await fetch(this.#urls.nightledger + path, {
      method,
      headers: fields.map((field): [string, string] => [field.split(': ')[0] ?? '', field.split(': ')[1] ?? '']),
      ...(method === 'GET' ? {} : { body }),
    })
    await this.#floor.ask({ status: answer.status, headers: [...answer.headers], body: await answer.text() })
  }

  /** One run of an arm. @throws Error on an unexpected answer */
  async run(arm: Arm, connections: number, { warmMs, runMs }: { warmMs: number; runMs: number }): Promise<Sample> {
    const { beside } = arm
    const writing =
      beside === undefined
        ? null
        : this.#ask(
            this.#besideLoad,
            { ...arm, ...beside },
            { connections: beside.connections, warmMs: 0, runMs: warmMs + runMs + 100 },
          )
    const pid = this.#pidOf(arm.server)
    const [server, postgres] = [cpuSecondsOf(pid), cpuSecondsOfFamily(this.postgres.postmasterPid)]
    const result = await this.#ask(this.#load, arm, { connections, warmMs, runMs })
    // The CPU time includes the warm-up, so the requests that it is divided by include it as well.
    const requests = result.perSecond * ((warmMs + runMs) / 1_000)
    const serverCpuMs = ((cpuSecondsOf(pid) - server) * 1_000) / requests
    const postgresCpuMs = ((cpuSecondsOfFamily(this.postgres.postmasterPid) - postgres) * 1_000) / requests
    await writing
    return { ...result, serverCpuMs, postgresCpuMs, residentMb: residentMbOf(pid) }
  }

  async stop(): Promise<void> {
    await Promise.allSettled([this.#load, this.#besideLoad, this.#peer, this.#floor].map((child) => child.stop()))
    await this.#service.stop()
    await this.postgres.stop()
  }

  async touchEveryUnit(): Promise<void> {
    const units = this.#size.agencies * this.#size.unitsPerAgency
    const asked = { kind: 'availability-31', size: this.#size, firstSale: 0 } as const
    const timing = { connections: 32, warmMs: 0, runMs: 60_000, requestsMax: units }
    const { fault } = await this.#load.ask<LoadResult>({ ...asked, ...timing, url: this.#urls.nightledger })
    if (fault !== null) throw new Error(`Cannot measure: ${fault}`)
  }

  async #ask(
    load: JsonChild,
    arm: Pick<Arm, 'server' | 'kind' | 'units'>,
    timing: Pick<LoadAsked, 'connections' | 'warmMs' | 'runMs'>,
  ): Promise<LoadResult> {
    // A contended load sells the nights of its ten units from their end of the list: no other load uses those.
    const place = `${arm.server} ${arm.kind === 'contended' ? 'contended' : 'all'}`
    const firstSale = this.#sold.get(place) ?? (arm.kind === 'contended' ? CONTENDED_FIRST : 0)
    const asked = {
      kind: arm.kind,
      size: this.#size,
      firstSale,
      ...(arm.units === undefined ? {} : { units: arm.units }),
    }
    const result = await load.ask<LoadResult>({ ...asked, ...timing, url: this.#urls[arm.server] })
    this.#sold.set(place, result.sold)
    if (result.fault !== null) throw new Error(`Cannot measure ${arm.kind} of ${arm.server}: ${result.fault}`)
    return result
  }

  #pidOf(server: Server): number {
    if (server === 'nightledger') return this.#service.pid
    return server === 'peer' ? this.#peer.pid : this.#floor.pid
  }
}

interface Up {
  readonly url: string
}

/** Ten units times the total sales of all loads in each of them, with room to spare. */
const CONTENDED_FIRST = 10 * 1_500

function poolOfPeer(): Record<string, string> {
  const size = process.env['PEER_POOL']
  return size === undefined ? {} : { PEER_POOL: size }
}
