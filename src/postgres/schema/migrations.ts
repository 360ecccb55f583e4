import schema from '../../../sql/001_schema.sql' with { type: 'text' }

/** One step of the schema. Versions are consecutive; `sql` runs in one transaction. */
export type Migration = { readonly version: number; readonly name: string; readonly sql: string }

/**
 * The files of sql/ in order, embedded so that the compiled binary carries them; a test compares the list with the folder. Until
 * 1.0 there is only the first, which is edited in place. From 1.0 on an applied migration is never edited: a mistake is fixed by the
 * next one.
 */
export const MIGRATIONS: readonly Migration[] = [{ version: 1, name: 'schema', sql: schema }]

/** What the migrations create, all of them trusted: a test compares this list with sql/. */
export const EXTENSIONS: readonly string[] = ['btree_gist', 'btree_gin', 'pg_trgm']
