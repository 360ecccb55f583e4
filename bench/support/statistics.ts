/** Medians, spreads and percentiles of what was measured. */

export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  const [min, median, max] = [Math.min(...values), medianOf(values), Math.max(...values)]
  return { min: rounded(min, 1), median: rounded(median, 1), max: rounded(max, 1) }
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
