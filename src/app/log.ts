import pino, { type Logger } from 'pino'
import type { LogLevel } from './config.ts'

export type Log = Logger

/**
 * Structured JSON lines on standard error; standard output is for people. Events are constant strings with fields;
 * never personal data, never a secret. Writes are synchronous, because otherwise the last lines of an exiting process
 * are lost.
 */
export function openLog(level: LogLevel): Log {
  return pino(
    { level, base: { service: 'nightledger' }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
}
