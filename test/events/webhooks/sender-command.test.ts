import { expect, test } from 'bun:test'
import { checkSenderCommand, SenderCommandError } from '../../../src/app/send-webhooks.ts'
import { type SenderExit, SenderProcess } from '../../../src/events/webhooks/sender-process.ts'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const GONE = '/no/such/program'

test('a missing sender program is reported before the ledger is taken over', () => {
  expect(() => checkSenderCommand([process.execPath, GONE])).toThrow(SenderCommandError)
  expect(() => checkSenderCommand()).not.toThrow()
})

test('a sender that cannot be started later is retried while the service continues', async () => {
  const clock = new FakeClock()
  const exits: SenderExit[] = []
  const sender = new SenderProcess({
    settings: {
      databaseUrl: '',
      secretKeyHex: '',
      epoch: 1,
      allowHosts: [],
      logLevel: 'info',
      traces: null,
      trustedCa: null,
    },
    command: [GONE],
    clock,
    onExit: (fields) => exits.push(fields),
  })
  sender.start()
  await clock.advance(600)
  expect(exits.map(({ exitCode, restartMs }) => [exitCode, restartMs])).toEqual([
    [null, 100],
    [null, 500],
    [null, 2_000],
  ])
  expect(exits[0]?.err).toBeInstanceOf(Error)
  expect(sender.stats).toMatchObject({ isUp: false, restarts: 2 })
  await sender.stop(100)
})

/** A sender that does `program` instead of sending. */
function senderThat(program: string, clock: Clock, onExit: (fields: SenderExit) => void = () => {}): SenderProcess {
  return new SenderProcess({
    settings: {
      databaseUrl: '',
      secretKeyHex: '',
      epoch: null,
      allowHosts: [],
      logLevel: 'info',
      traces: null,
      trustedCa: null,
    },
    command: [process.execPath, '-e', program],
    clock,
    onExit,
  })
}

test('whoever waits until the sender has begun waits for its first report, and not for ever', async () => {
  const reports =
    "process.on('message', () => process.send({ kind: 'stats', stats: {} })); process.send({ kind: 'up' })"
  const sender = senderThat(reports, systemClock)
  sender.start()
  await sender.started(60_000)
  expect(sender.stats.sender).not.toBeNull()
  await sender.stop(0)

  const clock = new FakeClock()
  const mute = senderThat("process.on('message', () => {}); process.send({ kind: 'up' })", clock)
  mute.start()
  let isOver = false
  void mute.started(5_000).then(() => {
    isOver = true
  })
  await eventually('it is up', () => mute.stats.isUp)
  await clock.advance(4_900)
  expect(isOver).toBe(false)
  await clock.advance(200)
  expect(isOver).toBe(true)
  const stopped = mute.stop(0)
  await clock.advance(600)
  await stopped
})

/** Answers each message about `kind` with what `said` makes of all of them, as its stats. */
const answering = (kind: string, said: string) =>
  `const all = []
  process.on('message', (message) => {
    if (message.kind !== '${kind}') return
    all.push(message)
    process.send({ kind: 'stats', stats: all.map((message) => ${said}) })
  })
  process.send({ kind: 'up' })`

test('a sender hears for which shards it sends as soon as it is up, though they were known before', async () => {
  const sender = senderThat(answering('shards', 'message.shards'), systemClock)
  const shards = [{ shard: 3, epoch: 7 }]
  sender.sendFor(shards)
  sender.start()
  await eventually('it has heard of them', () => sender.stats.sender !== null)
  expect(sender.stats.sender as unknown).toEqual([shards])
  await sender.stop(0)
})

test('a wake is sent at once, and those of the two milliseconds after it together', async () => {
  const clock = new FakeClock()
  const sender = senderThat(answering('wake', 'message.agencyIds'), clock)
  sender.start()
  await eventually('it is up', () => sender.stats.isUp)
  for (const agencyId of ['agc_a', 'agc_b', 'agc_c']) sender.wake(agencyId)
  const heard = () => (sender.stats.sender ?? []) as unknown as string[][]
  await clock.advance(2)
  await eventually('it has heard of all agencies', () => heard().flat().length === 3)
  expect(heard()).toEqual([['agc_a'], ['agc_b', 'agc_c']])
  // After the pause that follows those, one is sent at once again.
  await clock.advance(2)
  sender.wake('agc_d')
  await eventually('it has heard of the last one', () => heard().length === 3)
  const stopped = sender.stop(0)
  await clock.advance(600)
  await stopped
})

test('a sender that has ended has no process id until it is restarted', async () => {
  const clock = new FakeClock()
  const sender = senderThat("process.on('message', () => process.exit(1)); process.send({ kind: 'up' })", clock)
  sender.start()
  const first = sender.pid
  expect(first).toBeGreaterThan(0)
  await eventually('it has ended', () => clock.nextTimerIn !== null)
  expect(sender.pid).toBeNull()
  await clock.advance(100)
  expect(sender.pid).not.toBeNull()
  expect(sender.pid).not.toBe(first)
  const stopped = sender.stop(0)
  await clock.advance(600)
  await stopped
})

test('a sender that was stopped is not reported as ended, and not restarted; no timer is left to kill it', async () => {
  const clock = new FakeClock()
  const exits: SenderExit[] = []
  const stops = "process.on('message', ({ kind }) => kind === 'stop' && process.exit(0)); process.send({ kind: 'up' })"
  const sender = senderThat(stops, clock, (fields) => exits.push(fields))
  sender.start()
  await eventually('it is up', () => sender.stats.isUp)
  await sender.stop(60_000)
  await eventually('its end was noticed', () => sender.pid === null)
  expect([exits, clock.nextTimerIn]).toEqual([[], null])
})

test('a sender that has ended has no stats: what it was doing, nobody does', async () => {
  const clock = new FakeClock()
  const sender = senderThat(
    "process.send({ kind: 'stats', stats: { inFlightFast: 7 } }); process.on('message', () => process.exit(1)); process.send({ kind: 'up' })",
    clock,
  )
  sender.start()
  await sender.started(60_000)
  expect(sender.stats.sender as unknown).toEqual({ inFlightFast: 7 })
  await eventually('it has ended', () => clock.nextTimerIn !== null && sender.pid === null)
  expect(sender.stats).toEqual({ isUp: false, restarts: 0, sender: null })
  const stopped = sender.stop(0)
  await clock.advance(600)
  await stopped
})
