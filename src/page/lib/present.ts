import { Store } from './store.ts'

/** The time of the sandbox that is shown, milliseconds; null: none is, and the time is real. */
export const sandboxTime = new Store<number | null>(null)

/** What the agency's day and its holds go by, milliseconds. Keys, sessions and secrets go by real time. */
export function present(): number {
  return sandboxTime.value ?? Date.now()
}
