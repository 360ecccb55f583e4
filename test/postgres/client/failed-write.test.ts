import { expect, test } from 'bun:test'
import { DeadlineError } from '../../../src/lib/deadline.ts'
import { type FailedWrite, failedWrite } from '../../../src/postgres/client/failed-write.ts'

const coded = (code: string) => Object.assign(new Error('x'), { code })
const ofServer = (code: string, severity: string) => Object.assign(new Error('x'), { code, severity })

/** What a statement that was sent once has come to, by what it rejected with. */
const ROWS: [FailedWrite, string, unknown][] = [
  ['fenced', 'the fence', ofServer('NL001', 'ERROR')],
  ['not_written', 'a statement timeout', ofServer('57014', 'ERROR')],
  ['not_written', 'a lock timeout', ofServer('55P03', 'ERROR')],
  ['not_written', 'a full disk', ofServer('53100', 'ERROR')],
  ['not_written', 'a unique violation', ofServer('23505', 'ERROR')],
  ['not_written', 'a missing table', ofServer('42P01', 'ERROR')],
  ['not_written', 'a server without room for one more connection', ofServer('53300', 'FATAL')],
  ['not_written', 'a server that is starting', ofServer('57P03', 'FATAL')],
  ['not_written', 'nobody listening', coded('ECONNREFUSED')],
  ['not_written', 'no connection in time', coded('CONNECT_TIMEOUT')],
  ['not_written', 'a host without an address', coded('ENOTFOUND')],
  ['not_written', 'no primary among the hosts', coded('CONNECTION_NO_PRIMARY')],
  ['not_written', 'a server that must encrypt and does not', coded('CONNECTION_NOT_ENCRYPTED')],
  ['not_written', 'a server that closed the connection before the login', coded('CONNECTION_NOT_OPENED')],
  ['not_written', 'a pool without a free connection', coded('CONNECTION_WAIT_TIMEOUT')],
  ['not_written', 'a pool whose queue is full', coded('CONNECTION_QUEUE_FULL')],
  ['unknown', 'a server that ends the session', ofServer('57P01', 'FATAL')],
  ['unknown', 'a server that goes down', ofServer('XX000', 'PANIC')],
  ['unknown', 'a connection that was closed', coded('CONNECTION_CLOSED')],
  ['unknown', 'a connection thrown away', coded('CONNECTION_DESTROYED')],
  ['unknown', 'a commit that no standby has confirmed', coded('CONNECTION_UNCONFIRMED')],
  ['unknown', 'a connection that was reset', coded('ECONNRESET')],
  ['unknown', 'a broken pipe', coded('EPIPE')],
  ['unknown', 'a missed deadline', new DeadlineError(5_000)],
  ['unknown', 'a fault of ours', new TypeError('x')],
  ['unknown', 'no error at all', 'x'],
]

test.each(ROWS)('%s: %s', (outcome, _, error) => {
  expect(failedWrite(error)).toBe(outcome)
})
