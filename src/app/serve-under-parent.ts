import type { Standing, WorkerCalls } from '../cluster/workers/parent-calls.ts'
import { ProcessChannel } from '../cluster/workers/process-channel.ts'
import { PROGRAM } from '../lib/version.ts'
import type { Listeners } from './listeners.ts'
import type { Throttled } from './open-surfaces.ts'
import { serveAsWorker } from './serve.ts'
import type { Service } from './service.ts'
import { WorkerPlace } from './worker-place.ts'

/** Runs this process as a worker: it starts when its parent says so, and ends with it. */
export function serveUnderParent(): void {
  if (process.send === undefined) {
    console.error('Cannot serve as a worker: only the service starts this process. Set WORKERS instead.')
    process.exit(1)
  }
  // The parent decides when to stop. A terminal and some supervisors signal all processes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const send = process.send.bind(process)
  let place: WorkerPlace | null = null
  let running: { readonly service: Service; readonly listeners: Listeners } | null = null
  const handlers: WorkerCalls = {
    start: (_, settings) => {
      // What the processes of a service say to each other may be different in each version.
      if (settings.program !== PROGRAM) {
        console.error(
          `Cannot serve as a worker: this program is ${PROGRAM}, the service runs ${settings.program}. Restart the service.`,
        )
        process.exit(1)
      }
      place = new WorkerPlace(settings, channel)
      void serveAsWorker(process.env, place, (started) => {
        running = started
      })
    },
    alive: () => {},
    standing: (_, standing: Standing) => {
      if (standing === 'standby') running?.listeners.refuse('standby', { isDraining: false })
      else running?.listeners.hold()
    },
    stop: (_, signal) => {
      if (running === null) process.exit(0)
      void running.service.end(signal)
    },
    readings: async () => (await place?.readings()) ?? [],
    runRetention: async (_, isDryRun) => {
      if (place === null) throw new Error('Cannot run a round of retention: this worker is not started yet')
      return place.runRetention(isDryRun)
    },
    residentUnits: (_, unitIds) => place?.residentUnits(unitIds) ?? [],
    wrongToken: (_, throttle, key) => place?.countWrong(throttle as Throttled, key),
  }
  const channel = new ProcessChannel((message) => send(message), handlers)
  process.on('message', (message) => channel.receive(message as Parameters<ProcessChannel['receive']>[0]))
  // Nobody restarts a worker without a parent, and nobody else may take its shards before it has ended.
  process.on('disconnect', () => process.exit(1))
}
