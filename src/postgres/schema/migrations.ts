import schema from '../../../sql/001_schema.sql' with { type: 'text' }

/** One step of the schema. Versions are consecutive; `sql` runs in one transaction. */
export type Migration = {
  readonly version: number
  readonly name: string
  readonly sql: string
  /**
   * The oldest schema version whose programs still run after this migration: everything they read and write exists, and they can read
   * what newer programs write. Lower than `version` unless something is removed (docs/versions.md#migrations).
   */
  readonly runsFrom: number
}

/**
 * The files of sql/ in order, embedded so that the compiled binary carries them; a test compares the list with the folder. A
 * released one is never edited: fix a mistake with the next one.
 */
export const MIGRATIONS: readonly Migration[] = [{ version: 1, name: 'schema', sql: schema, runsFrom: 1 }]

/** What the migrations create, all of them trusted: a test compares this list with sql/. */
export const EXTENSIONS: readonly string[] = ['btree_gist', 'btree_gin', 'pg_trgm']
