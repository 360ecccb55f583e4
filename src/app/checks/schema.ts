import { checkSchema, MigrationError, missingExtensions, schemaVersion } from '../../postgres/schema/migrate.ts'
import { MIGRATIONS } from '../../postgres/schema/migrations.ts'
import { type Check, type DatabaseWorld, failure, ok } from './check.ts'

/** Whether the schema is the one that this program needs. */
export const schema: Check<DatabaseWorld> = {
  name: 'schema',
  run: async ({ sql }) => {
    try {
      await checkSchema(sql)
    } catch (error) {
      if (isForbidden(error))
        return [
          failure(
            'The role of DATABASE_URL may not read the tables of the ledger, as after a restore without grants.',
            'Run `nightledger migrate` with DATABASE_URL and the MIGRATION_DATABASE_URL of the owner: it grants the role its rights.',
          ),
        ]
      if (!(error instanceof MigrationError)) throw error
      return [
        failure(
          error.message,
          'Run the version of nightledger that matches this database, or set DATABASE_URL to another database.',
        ),
      ]
    }
    const version = await schemaVersion(sql)
    if (version > MIGRATIONS.length)
      return [ok(`The schema has version ${version}, newer than that of this program, which runs on it.`)]
    if (version === MIGRATIONS.length) return [ok(`The schema has version ${version}, which this program needs.`)]
    const missing = await missingExtensions(sql)
    return [
      failure(
        version === 0
          ? 'The database is empty: it has no schema yet.'
          : `The schema has version ${version}; this program needs version ${MIGRATIONS.length}.`,
        `${version === 0 ? 'Run' : 'Back up the database, then run'} \`nightledger migrate\` with DATABASE_URL and the MIGRATION_DATABASE_URL of the owner.`,
      ),
      ...(missing.length === 0
        ? []
        : [
            failure(
              `The server does not have the extensions ${missing.join(', ')}, which the schema needs.`,
              "Install PostgreSQL's contrib modules (`apt-get install postgresql-contrib`), or have the provider allow them.",
            ),
          ]),
    ]
  },
}

/** insufficient_privilege */
function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42501'
}
