import { SHARDS } from '../../core/journal/shard.ts'
import { pidHere } from '../../lib/process-run.ts'
import { PostgresWriters, SILENT_MS, type Writer } from '../../postgres/stores/postgres-writers.ts'
import { type Check, type DatabaseWorld, type Finding, failure, ok, type World, warning } from './check.ts'

/** The service serves up to 5,000 requests and as many waiting streams. */
const OPEN_FILES_MIN = 8_192

/** The processes that take bookings, according to the database, and the limits of those on this machine. */
export const writer: Check<DatabaseWorld> = {
  name: 'writer',
  run: async (world) => {
    const writers = (await new PostgresWriters(world.sql).list()).filter(({ isReleased }) => !isReleased)
    if (writers.length === 0)
      return [warning('No process takes bookings: the last one was stopped, or none has been started.', START)]
    return [
      ...writers.map((one) => heartbeatOf(world, one)),
      ...unserved(writers),
      ...writers.flatMap((one) => onThisMachine(world, one)),
    ]
  },
}

const START = 'Start the service, with `systemctl start nightledger`, `docker compose up` or `nightledger serve`.'

function heartbeatOf({ machine }: World, { name, run, silentMs, shards }: Writer): Finding {
  const isDead = run !== null && machine.isOver(run)
  if (!isDead && silentMs < SILENT_MS)
    return ok(`${name} serves ${shards} of ${SHARDS} shards, and its heartbeat is recent.`)
  const silence = `has been silent for ${Math.round(silentMs / 1_000)} s: it was killed, hangs, or cannot reach the database`
  return failure(
    `${name} has ${shards} of ${SHARDS} shards, but ${isDead ? 'its process has ended' : silence}.`,
    'Restart it. A standby takes over by itself, or at once with `nightledger serve --take-over`.',
  )
}

function unserved(writers: readonly Writer[]): readonly Finding[] {
  const missing = SHARDS - writers.reduce((sum, { shards }) => sum + shards, 0)
  if (missing <= 0) return []
  return [
    failure(`No process serves ${missing} of ${SHARDS} shards: the bookings of their agencies are refused.`, START),
  ]
}

function onThisMachine({ machine }: World, { name, run }: Writer): readonly Finding[] {
  if (run === null)
    return [
      warning(
        `${name} cannot read the boot ID: after kill -9, its standby waits ${SILENT_MS / 1_000} s instead of taking over at once.`,
        'Let it read /proc/sys/kernel/random/boot_id: remove ProcSubset=pid from its unit, and restart it.',
      ),
    ]
  const pid = pidHere(run, machine.ownRun())
  const openFiles = pid === null ? null : machine.openFilesMax(pid)
  if (openFiles === null || openFiles >= OPEN_FILES_MIN) return []
  return [
    warning(
      `${name} has an open-file limit of ${openFiles}, and each connection takes one: connections beyond it are refused.`,
      'Set LimitNOFILE=65536 in its unit (ulimits in compose.yaml), and restart it.',
    ),
  ]
}
