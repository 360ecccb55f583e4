import { PortalAccess } from '../src/access/portal-access.ts'
import { newTokenSecret } from '../src/access/token-secret.ts'
import { sha256Hex } from '../src/lib/sha256-hex.ts'
import { timeGuesses } from './support/guess-timing.ts'

/*
 * `bun run bench/token-timing.ts`: does the time to a 401 reveal how much of a guessed portal token is right? Guesses are random
 * tokens; tokens equal to an access token, or to one of the operator's, except for the last characters; tokens whose hash begins like
 * that of an access token, or of the operator's; and random tokens again, as the control. There are two operator's tokens, as while the
 * token is being changed.
 */

const TOKENS = 1_000
const SHARED_HEX_DIGITS = 2

const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes))
const tokens = new Map(
  Array.from({ length: TOKENS }, () => newTokenSecret(random)).map((token) => [token.sha256, token]),
)
const victim = [...tokens.values()][TOKENS >> 1] ?? newTokenSecret(random)
const operator = stranger()
const access = new PortalAccess({
  operatorTokens: [stranger(), operator],
  // Its look-up is the catalogue's; what it would find is never found.
  catalogue: { tokenHolderByHash: (hash) => (tokens.has(hash) ? impossible() : null) },
  clock: { now: () => Date.now() },
})

timeGuesses(
  [
    { name: 'strangers', guess: stranger },
    { name: 'all but the last characters of an access token', guess: () => almost(victim.secret) },
    { name: "all but the last characters of the operator's token", guess: () => almost(operator) },
    { name: `${SHARED_HEX_DIGITS} digits of an access token's hash`, guess: () => guessAlike(victim.sha256) },
    {
      name: `${SHARED_HEX_DIGITS} digits of the hash of the operator's token`,
      guess: () => guessAlike(sha256Hex(operator)),
    },
    { name: 'strangers once more', guess: stranger },
  ],
  (authorization) => {
    if (access.admit(authorization) !== null) impossible()
  },
)

function stranger(): string {
  return newTokenSecret(random).secret
}

function almost(secret: string): string {
  return secret.slice(0, -4) + stranger().slice(-4)
}

function guessAlike(hash: string): string {
  for (;;) {
    const { secret, sha256 } = newTokenSecret(random)
    if (sha256.slice(0, SHARED_HEX_DIGITS) === hash.slice(0, SHARED_HEX_DIGITS)) return secret
  }
}

function impossible(): never {
  throw new Error('Cannot go on: a guess was right')
}
