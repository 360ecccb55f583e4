import { expect, test } from 'bun:test'
import { checkSenderCommand, SenderCommandError } from '../../src/app/send-webhooks.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { type SenderExit, SenderProcess } from '../../src/webhooks/sender-process.ts'
import { eventually } from '../support/eventually.ts'
import { FakeClock } from '../support/fake-clock.ts'

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
      ...{ databaseUrl: '', secretKeyHex: '', epoch: 1, allowHosts: [], logLevel: 'info', trustedCa: null },
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
function senderThat(program: string, clock: Clock): SenderProcess {
  return new SenderProcess({
    settings: {
      ...{ databaseUrl: '', secretKeyHex: '', epoch: null, allowHosts: [], logLevel: 'info', trustedCa: null },
    },
    command: [process.execPath, '-e', program],
    clock,
    onExit: () => {},
  })
}

test('whoever waits until the sender has begun waits for its first report, and not for ever', async () => {
  const reports =
    "process.on('message', () => process.send({ kind: 'stats', stats: {} })); process.send({ kind: 'up' })"
  const sender = senderThat(reports, systemClock)
  sender.start()
  await sender.begun(60_000)
  expect(sender.stats.sender).not.toBeNull()
  await sender.stop(0)

  const clock = new FakeClock()
  const mute = senderThat("process.on('message', () => {}); process.send({ kind: 'up' })", clock)
  mute.start()
  let isOver = false
  void mute.begun(5_000).then(() => {
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
