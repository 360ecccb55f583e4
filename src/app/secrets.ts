import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { keepPrivateFile, makeFolder } from '../lib/private-file.ts'
import { type Config, PORTAL_TOKEN_LENGTH_MIN, parsePortalTokens, parseSecretKey, SECRET_KEY_BYTES } from './config.ts'

/** `portalTokenFile`: where the token can be read, null when it came from the environment. `secretKey`: 32 bytes. */
export type Secrets = {
  readonly portalTokens: readonly string[]
  readonly portalTokenFile: string | null
  readonly secretKey: Uint8Array
}

/** A secret kept in the data folder cannot be used. */
export class SecretsError extends Error {
  override readonly name = 'SecretsError'
}

/**
 * The environment's secrets; those that it lacks are made once and kept in the data folder, mode 0600.
 * @throws SecretsError when a kept secret was damaged
 */
export function loadSecrets({
  dataDir,
  portalTokens,
  secretKey,
}: Pick<Config, 'dataDir' | 'portalTokens' | 'secretKey'>): Secrets {
  const tokenFile = join(dataDir, 'portal-token')
  const keyFile = join(dataDir, 'secret-key')
  if (portalTokens === null || secretKey === null) makeFolder(dataDir)
  const tokens =
    portalTokens ?? parsePortalTokens(keepPrivateFile(tokenFile, () => randomBytes(32).toString('base64url')))
  const key = secretKey ?? parseSecretKey(keepPrivateFile(keyFile, () => randomBytes(SECRET_KEY_BYTES).toString('hex')))
  if (tokens === null) {
    throw new SecretsError(
      `Cannot read the portal token: ${tokenFile} has fewer than ${PORTAL_TOKEN_LENGTH_MIN} characters, or invalid ones. Remove the file to generate a new token.`,
    )
  }
  if (key === null) {
    throw new SecretsError(
      `Cannot read the secret key: ${keyFile} is not ${SECRET_KEY_BYTES} bytes in hexadecimal or base64. Restore the file: webhook secrets are encrypted with this key.`,
    )
  }
  return { portalTokens: tokens, portalTokenFile: portalTokens === null ? tokenFile : null, secretKey: key }
}
