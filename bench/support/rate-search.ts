/** Bisection for the highest rate at which something still holds. */

interface Range {
  /** Holds, or is 0. */
  readonly low: number
  /** The highest rate to try. */
  readonly high: number
  readonly steps: number
}

/**
 * @param holds at a rate; null: that could not be measured
 * @returns the highest rate that was tried and held, `low` if none did; null: a step could not be measured
 */
export async function highestRate(
  { low, high, steps }: Range,
  holds: (rate: number) => Promise<boolean | null>,
): Promise<number | null> {
  let [good, tried] = [low, high]
  let bad = high
  for (let step = 0; step < steps; step++) {
    const isGood = await holds(tried)
    if (isGood === null) return null
    if (isGood) good = tried
    else bad = tried
    if (good === high) return high
    tried = (good + bad) / 2
  }
  return good
}
