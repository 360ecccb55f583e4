import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { keepPrivateFile, makeFolder } from '../lib/private-file.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { type Config, PORTAL_TOKEN_LENGTH_MIN, parsePortalTokens, parseSecretKey, SECRET_KEY_BYTES } from './config.ts'

/** `portalTokenFile`: where the token can be read, null when it came from the environment. `secretKey`: 32 bytes. */
export type Secrets = {
  readonly portalTokens: readonly string[]
  readonly portalTokenFile: string | null
  readonly secretKey: Uint8Array
}

/** A secret kept in the data folder, or the folder itself, cannot be used. */
export class SecretsError extends Error {
  override readonly name = 'SecretsError'
}

/**
 * The environment's secrets; those that it lacks are made once and kept in the data folder, mode 0600.
 * @throws SecretsError when a kept secret was damaged, or is missing beside the database, or the folder cannot be used
 */
export function loadSecrets({
  dataDir,
  portalTokens,
  secretKey,
}: Pick<Config, 'dataDir' | 'portalTokens' | 'secretKey'>): Secrets {
  const tokenFile = join(dataDir, 'portal-token')
  const keyFile = join(dataDir, 'secret-key')
  const kept = (path: string, make: () => string) => inFolder(dataDir, () => keepPrivateFile(path, make))
  if (portalTokens === null || secretKey === null) inFolder(dataDir, () => makeFolder(dataDir))
  // A new key would not open what the database has, and would look as if it were the old one.
  if (secretKey === null && !existsSync(keyFile) && existsSync(join(dataDir, 'postgres'))) {
    throw new SecretsError(
      `Cannot find the secret key: ${keyFile} is missing, but the webhook secrets of the database in ${dataDir} are encrypted with it. Restore the file from a backup of the folder, or set SECRET_KEY to that key.`,
    )
  }
  const tokens = portalTokens ?? parsePortalTokens(kept(tokenFile, () => randomBytes(32).toString('base64url')))
  const key = secretKey ?? parseSecretKey(kept(keyFile, () => randomBytes(SECRET_KEY_BYTES).toString('hex')))
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

function inFolder<T>(dataDir: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw new SecretsError(
      `Cannot use the data folder ${dataDir}: ${reasonOf(error)}. Set DATA_DIR to a folder that the service may write to.`,
      { cause: error },
    )
  }
}
