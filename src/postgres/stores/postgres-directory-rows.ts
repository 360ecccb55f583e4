import { idOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

/** SHA-256 of the secret, lower-case hex, or the agency's slug. */
export type Naming = { readonly kind: 'key' | 'token' | 'session' | 'slug'; readonly name: string }

/**
 * `agencyId`: null for a session of the operator. `isForGood`: it never names another agency, as the slug of a sandbox may once that is
 * deleted.
 */
export type Named = Naming & { readonly agencyId: string | null; readonly isForGood: boolean }

/** The agencies of keys, access tokens, sessions and slugs, each found by a unique index. */
export class PostgresDirectoryRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async find(names: readonly Naming[]): Promise<readonly Named[]> {
    // As text: array parameters need types that are not fetched.
    const of = (wanted: Naming['kind']) =>
      JSON.stringify(names.flatMap(({ kind, name }) => (kind === wanted ? [name] : [])))
    const rows = await this.#sql<{ kind: Naming['kind']; name: string; agencyId: string | null; isForGood: boolean }[]>`
      select 'key' as kind, secret_sha256 as name, agency_id as "agencyId", true as "isForGood" from api_key where secret_sha256 in (select jsonb_array_elements_text(${of('key')}::text::jsonb))
      union all
      select 'token', secret_sha256, agency_id, true from access_token where secret_sha256 in (select jsonb_array_elements_text(${of('token')}::text::jsonb))
      union all
      select 'session', secret_sha256, agency_id, true from portal_session where secret_sha256 in (select jsonb_array_elements_text(${of('session')}::text::jsonb))
      union all
      select 'slug', slug, agency_id, sandbox_of is null from agency where slug in (select jsonb_array_elements_text(${of('slug')}::text::jsonb))`
    return rows.map(({ agencyId, ...named }) => ({
      ...named,
      agencyId: agencyId === null ? null : idOf('agc', agencyId),
    }))
  }
}
