import type { NewSecret } from '../admin/credential-writes.ts'
import { TOKEN_PREFIX } from '../core/catalogue/access-token.ts'
import { newSecret, secretWith } from './new-secret.ts'

/** Creates an access token: `hp_live_` and 32 random bytes as base64url. `random` must be cryptographically strong. */
export function newTokenSecret(random: (bytes: number) => Uint8Array): NewSecret {
  return newSecret(TOKEN_PREFIX, random)
}

/** What is stored and shown of an existing access token. */
export function tokenSecretOf(secret: string): NewSecret {
  return secretWith(TOKEN_PREFIX, secret)
}
