import pino, { type Logger } from 'pino'
import type { LogLevel } from './config.ts'

export type Log = Logger

/** Of lines that could not be written. Beyond it, further ones are lost. */
const WAITING_BYTES_MAX = 1_048_576

/**
 * Structured JSON lines on standard error; standard output is for people. Events are constant strings with fields;
 * never personal data, never a secret. Writes are synchronous, because otherwise the last lines of an exiting process
 * are lost. While they fail, because the disk of the log is full, the service continues, and the lines wait.
 * @param options.worker its number, on every line; left out: of a process that is no worker
 */
export function openLog(level: LogLevel, { worker }: { readonly worker?: number } = {}): Log {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: WAITING_BYTES_MAX })
  // Without a listener, the failure would be thrown at the code that logs.
  destination.on('error', () => {})
  return pino(
    {
      level,
      base: { service: 'nightledger', ...(worker !== undefined && { worker }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination,
  )
}
