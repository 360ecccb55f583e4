/** After the end of the failed attempt: 1 min, 5 min, 30 min, 2 h, 6 h; then dead (docs/contract.md#delivery, rule 2). */
export const RETRY_DELAYS_S = [60, 300, 1_800, 7_200, 21_600] as const

/** Jitter only delays an attempt, by at most this share of the delay. */
export const JITTER_MAX = 0.05

/** The first attempt, and one after each delay. */
export const TRIES_MAX = RETRY_DELAYS_S.length + 1

/**
 * Milliseconds from the end of a failed attempt to the next one, never less than the schedule says.
 * @param tries finished attempts of this schedule, from 1
 * @param dice random number in [0, 1)
 * @returns null when no attempt is left
 */
export function retryDelayMs(tries: number, dice: number): number | null {
  const seconds = RETRY_DELAYS_S[tries - 1]
  return seconds === undefined ? null : Math.ceil(seconds * 1_000 * (1 + JITTER_MAX * dice))
}
