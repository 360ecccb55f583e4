import { expect, test } from 'bun:test'
import { checkSenderCommand, SenderCommandError } from '../../src/app/send-webhooks.ts'
import { type SenderExit, SenderProcess } from '../../src/webhooks/sender-process.ts'
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
