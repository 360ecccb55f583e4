import { DeadlineError } from './deadline.ts'

/** A SQLSTATE, or what postgres.js and sockets have in its place. Not Bun's own `ERR_…`: those are of our code. */
const DATABASE_CODE = /^(?:[0-9A-Z]{5}|CONNECT_TIMEOUT|CONNECTION_[A-Z_]+|E[A-Z]+|EAI_AGAIN)$/

/** Whether what a statement rejected with says something of the database, and nothing of our code. */
export function isDatabaseFailure(error: unknown): boolean {
  if (error instanceof DeadlineError) return true
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && DATABASE_CODE.test(error.code)
}
