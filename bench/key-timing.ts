import { authenticate, newKeySecret } from '../src/access/key-secret.ts'
import { timeGuesses } from './support/guess-timing.ts'

/*
 * `bun run bench/key-timing.ts`: does the time to a 401 reveal how much of a guessed key is right? Guesses are random keys; keys
 * equal to a stored one except for the last characters; keys whose hash begins like a stored key's (found by trial, as an attacker
 * would have to); and random keys again, as the control.
 */

const KEYS = 1_000
const SHARED_HEX_DIGITS = 2

const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes))
const holders = new Map(Array.from({ length: KEYS }, () => newKeySecret(random)).map((key) => [key.sha256, key]))
const victim = [...holders.values()][KEYS >> 1] ?? newKeySecret(random)
// Its look-up is the catalogue's; what it would find is never found.
const catalogue = { holderByHash: (hash: string) => (holders.has(hash) ? impossible() : null) }

const now = Date.now()
timeGuesses(
  [
    { name: 'strangers', guess: stranger },
    { name: 'all but the last characters right', guess: () => victim.secret.slice(0, -4) + stranger().slice(-4) },
    { name: `${SHARED_HEX_DIGITS} digits of the hash right`, guess: guessAlike },
    { name: 'strangers once more', guess: stranger },
  ],
  (authorization) => authenticate(authorization, catalogue, now),
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

function impossible(): never {
  throw new Error('Cannot go on: a guess was right')
}
