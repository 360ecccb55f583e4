import { join } from 'node:path'
import { AccessTokenCommands } from '../accounts/access-token-commands.ts'
import type { AgencyStore } from '../accounts/agency-store.ts'
import { existingSecret, makeSecret } from '../accounts/secrets.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import { ROLES, type Role, TOKEN_PREFIX } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { sha256Hex } from '../lib/ids.ts'
import { keepPrivateFile, readIfPresent } from '../lib/private-file.ts'
import { DEMO_CALLER } from './demo-diary.ts'

/** Where the demo's access tokens can be read, lowest role first; without those that are revoked or whose file is gone. */
export type TokenFiles = readonly { readonly role: Role; readonly path: string }[]

/**
 * Creates an access token of the demo agency for each role that never had one: in a new demo, in one whose creation was interrupted, and
 * in one that an earlier version made. A token that was revoked is not created again. Each secret is in a file in `dataDir`, mode 0600.
 */
export async function ensureDemoTokens(
  agency: Agency,
  target: { catalogue: Catalogue; store: AgencyStore; clock: Clock; newId: IdSource; dataDir: string },
): Promise<TokenFiles> {
  const files = ROLES.map((role) => ({ role, path: join(target.dataDir, `demo-${role}-token`) }))
  for (const { role, path } of files) {
    const name = `Demo ${role}`
    if (target.catalogue.accessTokens.of(agency.id).some((token) => token.name === name)) continue
    // First the file: a token whose secret nobody has would be of no use.
    const secret = keepPrivateFile(path, () => makeSecret(TOKEN_PREFIX).secret)
    const commands = new AccessTokenCommands({ ...target, makeSecret: (prefix) => existingSecret(prefix, secret) })
    await commands.create(agency, { name, role, expiresAt: null }, DEMO_CALLER)
  }
  return files.filter(({ path }) => isUsable(target.catalogue, path))
}

function isUsable(catalogue: Catalogue, path: string): boolean {
  const secret = readIfPresent(path)
  if (secret === null) return false
  const holder = catalogue.accessTokens.holderByHash(sha256Hex(secret))
  return holder?.kind === 'access_token' && holder.member.revokedAt === null
}
