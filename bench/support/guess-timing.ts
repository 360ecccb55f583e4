/**
 * Whether the time to refuse a guessed secret reveals how much of the guess is right. Times 100,000 guesses of each kind in random
 * order, each a new string as in a request. The slowest tenth of each kind is dropped (interrupts, garbage collection). |t| above 4.5
 * (Welch's t-test) is a real difference.
 */

const SAMPLES = 100_000
const T_MAX = 4.5

export interface GuessKind {
  readonly name: string
  /** A new guess; every guess of every kind has the same length. */
  readonly guess: () => string
}

/**
 * Prints how each kind compares with the first one, which should be strangers.
 * @param refuse what is timed; gets the header `Authorization`
 */
export function timeGuesses(kinds: readonly GuessKind[], refuse: (authorization: string) => void): void {
  // Each guess is asked once: a repeated one is found faster, and a few would only measure the buckets they share in the map.
  const timed = kinds.map(({ name, guess }) => ({
    name,
    guesses: Array.from({ length: SAMPLES }, guess),
    ns: [] as number[],
  }))
  // All guesses are made before the first is timed: what a guess takes to make would warm or cool the caches for its own
  // kind.
  const order = shuffled(timed.flatMap((_, kind) => Array.from({ length: SAMPLES }, () => kind)))
  const headers = Buffer.from(order.map((kind) => `Bearer ${timed[kind]?.guesses.pop()}`).join(''), 'latin1')
  const headerBytes = headers.length / order.length
  order.forEach((kind, i) => {
    const header = headers.toString('latin1', i * headerBytes, (i + 1) * headerBytes)
    const begin = Bun.nanoseconds()
    refuse(header)
    timed[kind]?.ns.push(Bun.nanoseconds() - begin)
  })

  const measured = timed.map(({ name, ns }) => ({ name, kept: ns.sort((a, b) => a - b).slice(0, SAMPLES * 0.9) }))
  const strangers = measured[0]?.kept ?? []
  const seen = measured.filter(({ name, kept }) => {
    const t = welch(strangers, kept)
    console.log(
      `${name}: median ${kept[kept.length >> 1]} ns, mean ${momentsOf(kept)[0].toFixed(1)} ns, t = ${t.toFixed(2)}`,
    )
    return Math.abs(t) > T_MAX
  })
  console.log(
    seen.length === 0 ? 'No difference that can be used' : `Differences: ${seen.map(({ name }) => name).join(', ')}`,
  )
}

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    const [a, b] = [items[i] as T, items[j] as T]
    items[i] = b
    items[j] = a
  }
  return items
}

function welch(a: readonly number[], b: readonly number[]): number {
  const [meanA, varianceA] = momentsOf(a)
  const [meanB, varianceB] = momentsOf(b)
  return (meanA - meanB) / Math.sqrt(varianceA / a.length + varianceB / b.length)
}

function momentsOf(values: readonly number[]): [mean: number, variance: number] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return [mean, values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)]
}
