import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { SHARDS } from '../../src/core/journal/shard.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { checkSecretKey } from '../../src/postgres/stores/stored-key-check.ts'
import { breakFunction } from '../support/cluster/broken-function.ts'
import { eventually } from '../support/eventually.ts'
import { openTestLedger } from '../support/ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { TEST_SECRET_KEY } from '../support/service-process.ts'
import { EngineProcess } from './support/engines.ts'
import { type LoadedAgency, makeAgencies, ShardLoad } from './support/shard-load.ts'

const SEED = Number(process.env['LOAD_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
console.log(`LOAD_SEED=${SEED}`)
const ENGINES = 3
const CLIENTS = 16
const READERS = 4
const AGENCIES = 24

let database: TestDatabase
let sql: Sql
let agencies: readonly LoadedAgency[]
let engines: EngineProcess[]
/** By shard: the index of its owner, as whoever places shards knows it. */
let owners: number[]
let dice: SeededRandom
/** Of the calls of a test, ms. */
let slowest: { acquire: number; release: number }

beforeEach(async () => {
  dice = new SeededRandom(SEED)
  slowest = { acquire: 0, release: 0 }
  database = await testDatabase()
  sql = connect(database.url, { purpose: 'admin' })
  // As the first start on a database does.
  await checkSecretKey(sql, Uint8Array.fromHex(TEST_SECRET_KEY))
  const before = await openTestLedger({ on: database })
  agencies = await makeAgencies(before, AGENCIES, 3)
  await before.close()
  engines = await Promise.all(Array.from({ length: ENGINES }, (_, i) => EngineProcess.start(database.url, `n${i}`)))
  owners = Array.from({ length: SHARDS }, (_, shard) => shard % ENGINES)
  await Promise.all(engines.map((engine, i) => engine.tell('acquire', shardsOf(i))))
}, 180_000)

afterEach(async () => {
  for (const engine of engines) engine.kill('SIGKILL')
  await Promise.all(engines.map((engine) => engine.exited))
  await sql.end({ timeout: 1 })
  await database.drop()
})

const shardsOf = (index: number) => owners.flatMap((owner, shard) => (owner === index ? [shard] : []))
const engineAt = (index: number): EngineProcess => {
  const engine = engines[index]
  if (engine === undefined) throw new Error(`Cannot use engine ${index}: there is none`)
  return engine
}
const newLoad = (of = agencies) => new ShardLoad(of, (shard) => engineAt(owners[shard] ?? 0).url, dice)

function report({ acknowledged, repeats, longestMs }: ShardLoad): void {
  const { acquire: acquiring, release: releasing } = slowest
  const ms = [longestMs, releasing, acquiring].map(Math.round).join(', ')
  console.log(`acknowledged ${acknowledged.length}, repeats ${repeats}; longest write, release, acquire: ${ms} ms`)
}

/** Up to eight shards of one engine, those with agencies first. */
function someShards(index: number): number[] {
  const loaded = new Set(agencies.map(({ shard }) => shard))
  return shardsOf(index)
    .toSorted((a, b) => Number(loaded.has(b)) - Number(loaded.has(a)) || dice.int(0, 2) - 1)
    .slice(0, dice.int(1, 8))
}

/** As whoever places shards does: when the database did not answer in time, it is asked again. */
async function acquire(index: number, shards: readonly number[]): Promise<void> {
  const since = performance.now()
  for (;;) {
    try {
      await engineAt(index).tell('acquire', shards)
      slowest.acquire = Math.max(slowest.acquire, performance.now() - since)
      return
    } catch (error) {
      if (performance.now() - since > 30_000) throw error
      await Bun.sleep(100)
    }
  }
}

async function release(index: number, shards: readonly number[]): Promise<void> {
  const since = performance.now()
  await engineAt(index).tell('release', shards)
  slowest.release = Math.max(slowest.release, performance.now() - since)
}

function give(shards: readonly number[], to: number): void {
  for (const shard of shards) owners[shard] = to
}

async function handOver(how: 'release' | 'drop'): Promise<void> {
  const from = dice.int(0, ENGINES - 1)
  const to = (from + dice.int(1, ENGINES - 1)) % ENGINES
  const shards = someShards(from)
  if (how === 'release') await release(from, shards)
  else await engineAt(from).tell('drop', shards)
  await acquire(to, shards)
  give(shards, to)
}

/**
 * Engines are stopped while another one acquires their shards, continue, and are still asked by clients that know no better.
 * @param enough a fault after which nothing more is tried: a build that has it may never answer the rest
 */
async function faultsOfStaleEngines(rounds: number, enough: string | null = null): Promise<string[]> {
  const faults: string[] = []
  // To one shard of the first victim nothing else is written: there no number of the log is taken when a stale engine writes.
  const quiet = agencies.find(({ shard }) => owners[shard] === 0)?.shard
  const load = newLoad(agencies.filter(({ shard }) => shard !== quiet))
  const isFound = () => {
    const is = enough !== null && faults.includes(enough)
    if (is) void load.abandon()
    return is
  }
  load.start(CLIENTS, READERS)
  for (let round = 0; round < rounds; round++) {
    await Bun.sleep(300)
    const victim = round % ENGINES
    const heir = (victim + 1) % ENGINES
    const stale = new ShardLoad(agencies, () => engineAt(victim).url, dice)
    const shards = shardsOf(victim)
    engineAt(victim).kill('SIGSTOP')
    await acquire(heir, shards)
    give(shards, heir)
    const alone = new ShardLoad(
      agencies.filter(({ shard }) => shard === quiet),
      () => engineAt(victim).url,
      dice,
    )
    stale.start(4, 0)
    alone.start(1, 0)
    await Bun.sleep(200)
    engineAt(victim).kill('SIGCONT')
    const acknowledged = () => stale.acknowledged.length + alone.acknowledged.length > 0
    if (enough === null) await Bun.sleep(500)
    // A build that is to be caught gets the time that a busy machine needs.
    else await eventually('it acknowledges', acknowledged, 10_000).catch(() => {})
    await Promise.all([stale.abandon(), alone.abandon()])
    if (acknowledged()) faults.push('a stale engine acknowledged a write')
    if (isFound()) return faults
    await engineAt(victim).tell('confirm')
    const { owned } = await engineAt(victim).state()
    if (owned.length > 0) faults.push('a stale engine still owns shards')
    if (isFound()) return faults
    const back = shardsOf(heir).slice(0, 120)
    await engineAt(victim).tell('drop', back)
    await release(heir, back)
    await acquire(victim, back)
    give(back, victim)
  }
  await load.stop()
  report(load)
  return [...faults, ...(await load.faults(sql))]
}

describe('a build is caught that', () => {
  test('writes without looking at the fences', async () => {
    await sql`
      create or replace function check_fences(shards smallint[], epochs bigint[]) returns boolean language sql as 'select true'`
    const fault = 'a stale engine acknowledged a write'
    expect(await faultsOfStaleEngines(2, fault)).toContain(fault)
  }, 180_000)

  test('claims shards without raising their epochs', async () => {
    await breakFunction(sql, 'take_shards', 'epoch = s.epoch + 1, ', '')
    const fault = 'a stale engine still owns shards'
    expect(await faultsOfStaleEngines(2, fault)).toContain(fault)
  }, 180_000)
})

describe('several engines on one database, under load', () => {
  test('pass shards to and fro: nothing is lost, sold twice or left out, and no write fails', async () => {
    const load = newLoad()
    load.start(CLIENTS, READERS)
    for (let round = 0; round < 60; round++) await handOver('release')
    await load.stop()
    expect(await load.faults(sql)).toEqual([])
    for (const engine of engines) expect((await engine.state()).fenced).toEqual([])
    report(load)
  }, 180_000)

  test('lose shards without a word, to a claim that fences them: they continue with the others', async () => {
    const load = newLoad()
    load.start(CLIENTS, READERS)
    for (let round = 0; round < 40; round++) {
      if (dice.chance(0.4)) {
        await handOver('drop')
        continue
      }
      // The owner is told nothing: the fence tells it.
      const from = dice.int(0, ENGINES - 1)
      const to = (from + 1) % ENGINES
      const shards = someShards(from)
      await acquire(to, shards)
      await Bun.sleep(dice.int(0, 60))
      give(shards, to)
      // Whoever places shards makes sure of it once a second.
      await engineAt(from).tell('confirm')
      const { owned } = await engineAt(from).state()
      expect(owned.filter((shard) => shards.includes(shard))).toEqual([])
    }
    await load.stop()
    expect(await load.faults(sql)).toEqual([])
    report(load)
  }, 180_000)

  test('are killed, and the others continue with their shards', async () => {
    const load = newLoad()
    load.start(CLIENTS, READERS)
    for (let round = 0; round < 5; round++) {
      await Bun.sleep(300)
      const victim = round % ENGINES
      const shards = shardsOf(victim)
      engineAt(victim).kill('SIGKILL')
      const heirs = [0, 1, 2].filter((index) => index !== victim)
      await Promise.all(
        heirs.map(async (heir, i) => {
          const share = shards.filter((_, place) => place % heirs.length === i)
          await acquire(heir, share)
          give(share, heir)
        }),
      )
      engines[victim] = await EngineProcess.start(database.url, `n${victim}`)
      for (const heir of heirs) {
        const back = shardsOf(heir).slice(0, 40)
        await release(heir, back)
        await acquire(victim, back)
        give(back, victim)
      }
    }
    await load.stop()
    expect(await load.faults(sql)).toEqual([])
    report(load)
  }, 180_000)

  test('are stopped and continue later: the stale one acknowledges nothing of what the others have', async () => {
    expect(await faultsOfStaleEngines(4)).toEqual([])
  }, 180_000)
})

test('a process that takes over all shards fences every engine out, and an engine that acquires one fences out that process', async () => {
  const single = await openTestLedger({ on: database })
  for (const engine of engines) expect((await engine.tell('confirm')).owned).toEqual([])
  await engineAt(0).tell('acquire', [0, 1])
  const agency = agencies.find(({ shard }) => shard > 1)
  expect(agency).toBeDefined()
  await eventually('its heartbeat tells it, although it writes nothing', () => single.ledger.reports.fenced.length > 0)
  expect(single.ledger.reports.fenced).toHaveLength(1)
  await single.close()
}, 60_000)
