/*
 * Loaded into a service process before the program (failpoints-main.ts): kills the process at a named point of its work, as `kill -9` would. FAILPOINT
 * is `name:count`, the count-th time the point is passed.
 */

import { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import { PostgresLane } from '../../src/postgres/stores/append-batch.ts'
import { PostgresJournalStore } from '../../src/postgres/stores/postgres-journal-store.ts'

const [name, count = '1'] = (process.env['FAILPOINT'] ?? '').split(':')
let left = Number(count)

function passes(point: string): boolean {
  if (point !== name) return false
  left -= 1
  return left === 0
}

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  // The signal ends the process before it gets here.
  throw new Error('unreachable')
}

const { appendBatch } = PostgresLane.prototype
const { writeSnapshots } = PostgresJournalStore.prototype
const { book } = BookingCommands.prototype

PostgresLane.prototype.appendBatch = async function (batch) {
  if (passes('before send')) die()
  const isDying = passes('after send')
  const sent = appendBatch.call(this, batch)
  if (isDying) {
    // Long enough for the bytes to leave, not for the commit to come back.
    await new Promise((resolve) => setImmediate(resolve))
    die()
  }
  const outcome = await sent
  if (passes('after commit')) die()
  return outcome
}

PostgresJournalStore.prototype.writeSnapshots = function (snapshots) {
  const written = writeSnapshots.call(this, snapshots)
  if (passes('mid-snapshot')) setImmediate(die)
  return written
}

BookingCommands.prototype.book = async function (...input) {
  const outcome = await book.apply(this, input)
  if (outcome.kind === 'done' && passes('before answer')) die()
  return outcome
}
