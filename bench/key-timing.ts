import { authenticate, newKeySecret } from '../src/access/key-secret.ts'

/*
 * `bun run bench/key-timing.ts`: does the time to a 401 reveal how much of a guessed key is right? It times 100,000 guesses of
 * each kind in random order, each a new string as in a request: random keys; keys equal to a stored one except for the last
 * characters; keys whose hash begins like a stored key's (found by trial, as an attacker would have to); and random keys again,
 * as the control. The slowest tenth of each kind is dropped (interrupts, garbage collection). |t| above 4.5 (Welch's t-test) is
 * a real difference.
 */

const SAMPLES = 100_000
const KEYS = 1_000
const SHARED_HEX_DIGITS = 2
const T_MAX = 4.5

const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes))
const holders = new Map(Array.from({ length: KEYS }, () => newKeySecret(random)).map((key) => [key.sha256, key]))
const victim = [...holders.values()][KEYS >> 1] ?? newKeySecret(random)
// Its look-up is the catalogue's; what it would find is never found.
const catalogue = { holderByHash: (hash: string) => (holders.has(hash) ? impossible() : null) }

// Each guess is asked once: a repeated one is found faster, and a few would only measure the buckets they share in the map.
const kinds = [
  { name: 'strangers', guess: stranger },
  { name: 'all but the last characters right', guess: () => victim.secret.slice(0, -4) + stranger().slice(-4) },
  { name: `${SHARED_HEX_DIGITS} digits of the hash right`, guess: guessAlike },
  { name: 'strangers once more', guess: stranger },
].map(({ name, guess }) => ({ name, guesses: Array.from({ length: SAMPLES }, guess), ns: [] as number[] }))

// All guesses are made before the first is timed: what a guess takes to make would warm or cool the caches for its own
// kind.
const order = shuffled(kinds.flatMap((_, kind) => Array.from({ length: SAMPLES }, () => kind)))
const headers = Buffer.from(order.map((kind) => `Bearer ${kinds[kind]?.guesses.pop()}`).join(''), 'latin1')
const headerBytes = headers.length / order.length

const now = Date.now()
order.forEach((kind, i) => {
  const header = headers.toString('latin1', i * headerBytes, (i + 1) * headerBytes)
  const begin = Bun.nanoseconds()
  authenticate(header, catalogue, now)
  kinds[kind]?.ns.push(Bun.nanoseconds() - begin)
})

const measured = kinds.map(({ name, ns }) => ({ name, kept: ns.sort((a, b) => a - b).slice(0, SAMPLES * 0.9) }))
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

function stranger(): string {
  return newKeySecret(random).secret
}

function guessAlike(): string {
  for (;;) {
    const { secret, sha256 } = newKeySecret(random)
    if (sha256.slice(0, SHARED_HEX_DIGITS) === victim.sha256.slice(0, SHARED_HEX_DIGITS)) return secret
  }
}

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = below(i + 1)
    const [a, b] = [items[i] as T, items[j] as T]
    items[i] = b
    items[j] = a
  }
  return items
}

function below(n: number): number {
  return Math.floor(Math.random() * n)
}

function impossible(): never {
  throw new Error('Cannot go on: a guess was right')
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
