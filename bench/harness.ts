/** Starts everything that a comparison needs: Postgres with seeded data, service, peer, floor and load generators. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from '../src/postgres/client/connect.ts'
import { Scrape } from '../test/support/scrape.ts'
import { TEST_PORTAL_TOKEN } from '../test/support/service-process.ts'
import type { LoadAsked, LoadResult, OpenAsked, OpenResult } from './load/load-process.ts'
import { sourceOf } from './load/requests.ts'
import type { Arm, Server } from './scenarios.ts'
import { JsonChild } from './support/json-child.ts'
import {
  type BenchPostgres,
  cpuSecondsOf,
  cpuSecondsOfFamily,
  residentMbOf,
  type ServiceHandle,
  sourceCommand,
  startPostgres,
  startService,
} from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
import type { WorldSize } from './world/world.ts'

const CHECKPOINT_LOOK_MS = 500
const CHECKPOINT_LOOKS_MAX = 1_200

/** CPU time per request: of the serving process, and of Postgres with all its backends. */
interface Cpu {
  readonly serverCpuMs: number
  readonly postgresCpuMs: number
}

export interface Sample extends LoadResult, Cpu {
  readonly residentMb: number
}

export type OpenSample = OpenResult & Cpu

export class Harness {
  readonly postgres: BenchPostgres
  readonly databaseUrl: string
  readonly #size: WorldSize
  readonly #sql: Sql
  readonly #service: ServiceHandle
  readonly #peer: JsonChild
  readonly #floor: JsonChild
  readonly #floorBody: JsonChild
  readonly #receiver: Receiver
  readonly #load: JsonChild
  readonly #besideLoad: JsonChild
  readonly #urls: Record<Server, string>
  /** By server and number of units: which nights are sold. */
  readonly #sold = new Map<string, number>()

  private constructor(options: {
    postgres: BenchPostgres
    databaseUrl: string
    size: WorldSize
    sql: Sql
    service: ServiceHandle
    peer: JsonChild
    floor: JsonChild
    floorBody: JsonChild
    receiver: Receiver
    urls: Record<Server, string>
  }) {
    this.postgres = options.postgres
    this.databaseUrl = options.databaseUrl
    this.#size = options.size
    this.#sql = options.sql
    this.#service = options.service
    this.#peer = options.peer
    this.#floor = options.floor
    this.#floorBody = options.floorBody
    this.#receiver = options.receiver
    this.#urls = options.urls
    this.#load = JsonChild.start(join(import.meta.dir, 'load/load-process.ts'))
    this.#besideLoad = JsonChild.start(join(import.meta.dir, 'load/load-process.ts'))
  }

  static async open(
    size: WorldSize,
    onStep: (step: string) => void,
    { hasPeer = true, serviceFlags = [] }: { hasPeer?: boolean; serviceFlags?: readonly string[] } = {},
  ): Promise<Harness> {
    onStep('starting Postgres')
    const postgres = await startPostgres()
    try {
      const { url, sql } = await postgres.createDatabase('bench')
      await seedLedger(sql, size, onStep)
      if (hasPeer) onStep("copying the peer's rows")
      if (hasPeer) await sql.unsafe(readFileSync(join(import.meta.dir, 'peer/schema.sql'), 'utf8'))
      await sql`vacuum analyze`
      await sql`checkpoint`
      const receiver = await startReceiver()
      const env = {
        RESIDENT_UNITS_MAX: '200000',
        LOG_LEVEL: 'info',
        // In production, a service sends webhooks to no private address. Nothing else depends on it.
        NODE_ENV: 'test',
        WEBHOOK_ALLOW_HOSTS: new URL(receiver.url).host,
      }
      const service = await startService(url, env, sourceCommand(serviceFlags))
      const peer = JsonChild.start(join(import.meta.dir, 'peer/server.ts'), { DATABASE_URL: url, ...poolOfPeer() })
      const floor = JsonChild.start(join(import.meta.dir, 'floor.ts'))
      const floorBody = JsonChild.start(join(import.meta.dir, 'floor.ts'), { FLOOR_READS_BODY: '1' })
      const urls = {
        nightledger: service.baseUrl,
        peer: (await peer.reported<Up>()).url,
        floor: (await floor.reported<Up>()).url,
        'floor-body': (await floorBody.reported<Up>()).url,
      }
      const processes = { postgres, service, peer, floor, floorBody, receiver }
      const harness = new Harness({ ...processes, databaseUrl: url, size, sql, urls })
      onStep('touching every unit once, so that all are resident')
      await harness.touchEveryUnit()
      onStep('waiting until the checkpoints of what was seeded are built')
      await harness.#untilCheckpointsAreBuilt()
      return harness
    } catch (error) {
      await postgres.stop()
      throw error
    }
  }

  /** To build them takes a fifth of a core, for a minute after a start with so many bookings that have none. */
  async #untilCheckpointsAreBuilt(): Promise<void> {
    for (let before = 0, tried = 0; tried < CHECKPOINT_LOOKS_MAX; tried++) {
      const page = new Scrape(await (await fetch(`${this.#urls.nightledger}/metrics`)).text())
      const behindS = page.value('nightledger_checkpoints_behind_seconds')
      // It falls when a round is over.
      if (behindS < before) return
      before = behindS
      await Bun.sleep(CHECKPOINT_LOOK_MS)
    }
    throw new Error('Cannot measure: the checkpoints of what was seeded are not built')
  }

  /** Gives a floor the service's own answer to such a request. */
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
    const floor = arm.server === 'floor' ? this.#floor : this.#floorBody
    await floor.ask({ status: answer.status, headers: [...answer.headers], body: await answer.text() })
  }

  /**
   * Leaves Postgres with nothing to do in the background. Otherwise autovacuum goes through what an earlier scenario has written, for a
   * minute or more and on one of the cores that this one needs.
   */
  async settle(): Promise<void> {
    await this.#sql`vacuum analyze`
    await this.#sql`checkpoint`
  }

  /** One run of an arm. @throws Error on an unexpected answer */
  async run(arm: Arm, connections: number, { warmMs, runMs }: { warmMs: number; runMs: number }): Promise<Sample> {
    const { beside } = arm
    const writing =
      beside === undefined
        ? null
        : this.#ask<LoadResult>(
            this.#besideLoad,
            { ...arm, ...beside },
            { connections: beside.connections, warmMs: 0, runMs: warmMs + runMs + 100 },
          )
    const cpu = this.#cpuSince(arm.server)
    const result = await this.#ask<LoadResult>(this.#load, arm, { connections, warmMs, runMs })
    // The CPU time includes the warm-up, so the requests that it is divided by include it as well.
    const used = cpu(result.perSecond * ((warmMs + runMs) / 1_000))
    await writing
    return { ...result, ...used, residentMb: residentMbOf(this.#pidOf(arm.server)) }
  }

  /** A run of an arm at a fixed rate. @throws Error on an unexpected answer */
  async runOpen(arm: Arm, timing: OpenTiming): Promise<OpenSample> {
    const cpu = this.#cpuSince(arm.server)
    const result = await this.#ask<OpenResult>(this.#load, arm, timing)
    return { ...result, ...cpu((timing.perSecond * (timing.warmMs + timing.runMs)) / 1_000) }
  }

  /** @returns what has been used since, for each of so many requests */
  #cpuSince(server: Server): (requests: number) => Cpu {
    const [pid, postgres] = [this.#pidOf(server), this.postgres.postmasterPid]
    const before = [cpuSecondsOf(pid), cpuSecondsOfFamily(postgres)] as const
    return (requests) => ({
      serverCpuMs: ((cpuSecondsOf(pid) - before[0]) * 1_000) / requests,
      postgresCpuMs: ((cpuSecondsOfFamily(postgres) - before[1]) * 1_000) / requests,
    })
  }

  async stop(): Promise<void> {
    const children = [this.#load, this.#besideLoad, this.#peer, this.#floor, this.#floorBody, this.#receiver.child]
    await Promise.allSettled(children.map((child) => child.stop()))
    await this.#service.stop()
    await this.postgres.stop()
  }

  /** Gives each agency an active endpoint, whose receiver is a process of its own. The service keeps them until it ends. */
  async registerEndpoints(): Promise<void> {
    for (let agency = 0; agency < this.#size.agencies; agency++) {
      const answer = await fetch(`${this.#urls.nightledger}/portal/v1/agencies/agency-${agency}/webhook-endpoints`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_PORTAL_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ url: `${this.#receiver.url}/agency-${agency}` }),
      })
      if (answer.status !== 201) throw new Error(`Cannot register an endpoint: ${await answer.text()}`)
    }
  }

  async touchEveryUnit(): Promise<void> {
    const units = this.#size.agencies * this.#size.unitsPerAgency
    const pending = { kind: 'availability-31', size: this.#size, firstSale: 0 } as const
    const timing = { connections: 32, warmMs: 0, runMs: 60_000, requestsMax: units }
    const { fault } = await this.#load.ask<LoadResult>({ ...pending, ...timing, url: this.#urls.nightledger })
    if (fault !== null) throw new Error(`Cannot measure: ${fault}`)
  }

  async #ask<Result extends LoadResult | OpenResult>(
    load: JsonChild,
    arm: Pick<Arm, 'server' | 'kind' | 'units'>,
    timing: Pick<LoadAsked, 'connections' | 'warmMs' | 'runMs'> | OpenTiming,
  ): Promise<Result> {
    // A contended load sells the nights of its ten units from their end of the list: no other load uses those.
    const place = `${arm.server} ${arm.kind === 'contended' ? 'contended' : 'all'}`
    const firstSale = this.#sold.get(place) ?? (arm.kind === 'contended' ? CONTENDED_FIRST : 0)
    const pending = {
      kind: arm.kind,
      size: this.#size,
      firstSale,
      ...(arm.units === undefined ? {} : { units: arm.units }),
    }
    const result = await load.ask<Result>({ ...pending, ...timing, url: this.#urls[arm.server] })
    // A load of reads beside a load of bookings may end after it, and has sold nothing.
    this.#sold.set(place, Math.max(this.#sold.get(place) ?? 0, result.sold))
    if (result.fault !== null) throw new Error(`Cannot measure ${arm.kind} of ${arm.server}: ${result.fault}`)
    return result
  }

  #pidOf(server: Server): number {
    switch (server) {
      case 'nightledger':
        return this.#service.pid
      case 'peer':
        return this.#peer.pid
      case 'floor':
        return this.#floor.pid
      case 'floor-body':
        return this.#floorBody.pid
    }
  }
}

type OpenTiming = Pick<OpenAsked, 'connections' | 'warmMs' | 'runMs' | 'perSecond' | 'seed'>

interface Up {
  readonly url: string
}

interface Receiver extends Up {
  readonly child: JsonChild
}

/** A floor that was given no answer: it accepts each webhook. */
async function startReceiver(): Promise<Receiver> {
  const child = JsonChild.start(join(import.meta.dir, 'floor.ts'))
  return { child, ...(await child.reported<Up>()) }
}

/** Ten units times the total sales of all loads in each of them, with room to spare. */
const CONTENDED_FIRST = 10 * 1_500

function poolOfPeer(): Record<string, string> {
  const size = process.env['PEER_POOL']
  return size === undefined ? {} : { PEER_POOL: size }
}
