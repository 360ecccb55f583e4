/*
 * `bun bench/secret-timing.ts`: does the time to a 401 reveal how much of a guessed secret is right? For a partner's API key, and for a token
 * of the portal (an access token, or one of the operator's). Guesses are random; equal to a stored secret except for the last characters; with
 * a hash that begins like a stored one's (found by trial, as an attacker would have to); and random again, as the control.
 *
 * Times 100,000 guesses of each kind in random order, each a new string as in a request. The slowest tenth of each kind is dropped
 * (interrupts, garbage collection). |t| above 4.5 (Welch's t-test) is a real difference.
 */

import { authenticate } from '../src/accounts/partner-access.ts'
import { PortalAccess } from '../src/accounts/portal-access.ts'
import { makeSecret } from '../src/accounts/secrets.ts'
import { KEY_PREFIX, TOKEN_PREFIX } from '../src/core/catalogue/agency.ts'
import { sha256Hex } from '../src/lib/ids.ts'

const SECRETS = 1_000
const SHARED_HEX_DIGITS = 2
const SAMPLES = 100_000
const T_MAX = 4.5

const newKey = () => makeSecret(KEY_PREFIX)
const newToken = () => makeSecret(TOKEN_PREFIX)

const stored = storedOf(newKey)
// Its look-up is the catalogue's; what it would find is never found.
const keys = { holderByHash: (hash: string) => (stored.hashes.has(hash) ? impossible() : null) }
const now = Date.now()
timeGuesses('API key', newKey, [stored.victim], (authorization) => authenticate(authorization, keys, now))

const tokens = storedOf(newToken)
// Two of the operator's, as while the token is being changed.
const [former, operator] = [newToken(), newToken()]
const access = new PortalAccess({
  operatorTokens: [former.secret, operator.secret],
  catalogue: {
    accessTokens: { holderByHash: (hash) => (tokens.hashes.has(hash) ? impossible() : null) },
    member: () => null,
  },
  clock: { now: () => Date.now() },
})
timeGuesses('token', newToken, [tokens.victim, operator], (authorization) => {
  if (access.admit(authorization) !== null) impossible()
})

interface Secret {
  readonly secret: string
}

function storedOf(make: () => Secret): { readonly hashes: ReadonlySet<string>; readonly victim: Secret } {
  const secrets = Array.from({ length: SECRETS }, make)
  return { hashes: new Set(secrets.map(({ secret }) => sha256Hex(secret))), victim: secrets[SECRETS >> 1] ?? make() }
}

function impossible(): never {
  throw new Error('Cannot continue: a guess was right')
}

/**
 * Prints how each kind of guess compares with random ones.
 * @param victims the secrets that guesses are like; every secret has the same length
 * @param refuse what is timed; gets the header `Authorization`
 */
function timeGuesses(
  what: string,
  make: () => Secret,
  victims: readonly Secret[],
  refuse: (authorization: string) => void,
): void {
  const stranger = () => make().secret
  const like = victims.flatMap(({ secret }, i) => [
    { name: `all but the last characters of victim ${i}`, guess: () => secret.slice(0, -4) + stranger().slice(-4) },
    {
      name: `${SHARED_HEX_DIGITS} digits of the hash of victim ${i}`,
      guess: () => guessWithHashLike(secret, stranger),
    },
  ])
  const kinds = [{ name: 'strangers', guess: stranger }, ...like, { name: 'strangers once more', guess: stranger }]
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
    console.log(`${what}, ${name}: median ${kept[kept.length >> 1]} ns, t = ${t.toFixed(2)}`)
    return Math.abs(t) > T_MAX
  })
  console.log(
    seen.length === 0 ? 'No difference that can be used' : `Differences: ${seen.map(({ name }) => name).join(', ')}`,
  )
}

function guessWithHashLike(victim: string, stranger: () => string): string {
  const begin = sha256Hex(victim).slice(0, SHARED_HEX_DIGITS)
  for (;;) {
    const guess = stranger()
    if (sha256Hex(guess).startsWith(begin)) return guess
  }
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
