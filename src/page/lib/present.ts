import { Store } from './store.ts'

/** The time of the sandbox that is shown, milliseconds; null: none is, and the time is real. */
export const sandboxTime = new Store<number | null>(null)

/** What a clock that is set goes wrong by, and an answer is under way for, at most. */
const INEXACT_MS = 60_000

let behindMs = 0

/** Sets the page's clock by the service's. @param serviceMs the time that an answer was sent at; not a number: it does not say */
export function heardTime(serviceMs: number): void {
  const ms = serviceMs - Date.now()
  if (!Number.isNaN(ms)) behindMs = Math.abs(ms) < INEXACT_MS ? 0 : ms
}

/** Real time, milliseconds: the service's, also where the clock of the browser is wrong by hours. */
export function realTime(): number {
  return Date.now() + behindMs
}

/** What the agency's day and its holds go by, milliseconds. Keys, sessions and secrets go by real time. */
export function present(): number {
  return sandboxTime.value ?? realTime()
}
