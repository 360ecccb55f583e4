import type { Clock } from '../../lib/clock.ts'

/** A statement seldom takes longer. */
const SLOW_MS = 500

/** Watches a connection that has to settle a statement. */
export interface SilenceOptions {
  readonly clock: Clock
  /** How long it may settle nothing, ms; null: for ever. */
  readonly silentMsMax: number | null
  onSilent(): void
  /** Called every SLOW_MS. */
  readonly onSlow?: (() => void) | undefined
}

/** @returns what ends the watch */
export function watchSilence({ clock, silentMsMax, onSilent, onSlow }: SilenceOptions): () => void {
  const stopDeadline = silentMsMax === null ? null : clock.after(silentMsMax, onSilent)
  const stopSlow = onSlow === undefined ? null : every(SLOW_MS, onSlow, clock)
  return () => {
    stopDeadline?.()
    stopSlow?.()
  }
}

/** @returns what stops it */
function every(ms: number, task: () => void, clock: Clock): () => void {
  let stop = (): void => {}
  const next = (): void => {
    stop = clock.after(ms, () => {
      next()
      task()
    })
  }
  next()
  return () => stop()
}
