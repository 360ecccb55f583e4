import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { expectNoLies, FailoverLoad } from '../support/failover-load.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { ReplicatedPostgres } from '../support/replicated-postgres.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

/* A primary and a synchronous standby, and a service that knows both. The long run has more rounds. */

const CLIENTS = 64

let pair: ReplicatedPostgres
let service: ServiceProcess
let load: FailoverLoad

beforeEach(async () => {
  pair = await ReplicatedPostgres.start()
  await prepareForLoad(pair.url)
  service = await startServiceOn(pair.url, { REQUIRE_SYNCHRONOUS_STANDBY: 'true' })
  load = new FailoverLoad(() => service.baseUrl)
})
afterEach(async () => {
  await load.stop()
  service.kill('SIGKILL')
  await pair.stop()
})

/** @param fail ends or replaces the primary. @param heal makes the other one a standby again */
async function repeated(count: number, fail: () => Promise<void>, heal: () => Promise<void>): Promise<string> {
  const gaps: number[] = []
  load.start(CLIENTS)
  for (let round = 0; round < count; round++) {
    await load.more(200)
    load.watchGap()
    await fail()
    await load.more(100)
    gaps.push(load.gapMs)
    await heal()
    await pair.waitForStandby(true)
  }
  await load.stop()
  return `no booking for ${gaps.map((ms) => ms.toFixed(0)).join(', ')} ms`
}

async function expectAllWell(): Promise<string> {
  const sql = pair.direct()
  const counts = await expectNoLies(sql, load)
  await expectNothingLost(sql, new Load(() => service.baseUrl))
  await sql.end({ timeout: 1 })
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  return counts
}

describe('under load, the primary', () => {
  test('is killed and its standby promoted: what was acknowledged is there, what was refused is not', async () => {
    const killAndPromote = async () => {
      pair.signal(pair.primary, 'SIGKILL')
      await pair.promote()
    }
    const gaps = await repeated(rounds({ push: 1, long: 10 }), killAndPromote, () => pair.addStandby())
    console.log(`killed: ${gaps}; ${await expectAllWell()}`)
  }, 600_000)

  test('is shut down and its standby promoted, and comes back as the standby: the same', async () => {
    const switchOver = async () => {
      await pair.shutDown(pair.primary)
      await pair.promote()
    }
    const gaps = await repeated(rounds({ push: 1, long: 10 }), switchOver, () => pair.rejoin())
    console.log(`switched over: ${gaps}; ${await expectAllWell()}`)
  }, 600_000)

  test('hangs, and its standby is promoted: the same, also when it wakes up as a primary that was replaced', async () => {
    const stopAndPromote = async () => {
      pair.signal(pair.primary, 'SIGSTOP')
      await pair.promote()
    }
    const wakeAndCopy = async () => {
      pair.signal(pair.standby, 'SIGCONT')
      await load.more(100)
      pair.signal(pair.standby, 'SIGKILL')
      await pair.addStandby()
    }
    const gaps = await repeated(rounds({ push: 1, long: 3 }), stopAndPromote, wakeAndCopy)
    console.log(`hung: ${gaps}; ${await expectAllWell()}`)
  }, 600_000)
})

test('a primary that was cut off and replaced accepts nothing when it comes back, even while the new one is away', async () => {
  const replaced = pair.primary
  load.start(CLIENTS)
  await load.more(200)
  replaced.proxy.cutOff()
  await pair.promote()
  await load.more(200)

  const entriesOfReplaced = () => pair.ask(replaced, (sql) => sql`select count(*)::int as n from journal`)
  const before = await entriesOfReplaced()
  replaced.proxy.reconnect()
  await load.more(200)
  pair.primary.proxy.cutOff()
  const made = load.made
  await Bun.sleep(3_000)
  expect(load.made).toBeLessThanOrEqual(made + CLIENTS)
  pair.primary.proxy.reconnect()
  await load.more(200)
  expect(await entriesOfReplaced()).toEqual(before)
  await load.stop()
  console.log(`zombie: ${await expectAllWell()}`)
}, 120_000)

test('a service that starts while only the replaced primary can be reached makes no booking there', async () => {
  const replaced = pair.primary
  await new Load(() => service.baseUrl).book()
  pair.primary.proxy.cutOff()
  await pair.promote()
  load.start(8)
  await load.more(20)
  await load.stop()
  const entries = () => pair.ask(replaced, (sql) => sql`select count(*)::int as n from journal`)
  const before = await entries()
  service.kill('SIGKILL')
  await service.exited
  replaced.proxy.reconnect()
  pair.primary.proxy.cutOff()
  const stuck = startServiceOn(pair.url).catch(() => null)
  expect(await Promise.race([stuck.then(() => 'up'), Bun.sleep(4_000).then(() => 'waits')])).toBe('waits')
  pair.primary.proxy.reconnect()
  const next = await stuck
  if (next === null) service = await startServiceOn(pair.url)
  else service = next
  await new Load(() => service.baseUrl).book()
  expect(await entries()).toEqual(before)
  await expectAllWell()
}, 120_000)

test('a service that finds no primary does not start, and says what each server is', async () => {
  service.kill('SIGKILL')
  await service.exited
  pair.primary.proxy.cutOff()
  await expect(startServiceOn(pair.url)).rejects.toThrow(/Cannot find the primary: .* is a standby/)
  pair.primary.proxy.reconnect()
  const setReadOnly = (value: 'on' | 'off') =>
    pair.ask(pair.primary, async (sql) => {
      await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
      await sql`select pg_reload_conf()`
    })
  await setReadOnly('on')
  await expect(startServiceOn(pair.url)).rejects.toThrow(/Cannot find the primary: .* is read-only/)
  await setReadOnly('off')
  service = await startServiceOn(pair.url)
  await new Load(() => service.baseUrl).book()
  await expectAllWell()
}, 120_000)
