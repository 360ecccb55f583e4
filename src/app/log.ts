import pino, { type Logger } from 'pino'
import type { LogLevel } from './config.ts'

export type Log = Logger

/**
 * Structured JSON lines on standard error; standard output is for people. Events are constant strings with fields;
 * never personal data, never a secret. Writes are synchronous, because otherwise the last lines of an exiting process
 * are lost.
 * @param options.worker its number, on every line; left out: of a process that is no worker
 */
export function openLog(level: LogLevel, { worker }: { readonly worker?: number } = {}): Log {
  return pino(
    {
      level,
      base: { service: 'nightledger', ...(worker !== undefined && { worker }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 2, sync: true }),
  )
}
