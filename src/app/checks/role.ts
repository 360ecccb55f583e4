import { MigrationError } from '../../postgres/schema/migrate.ts'
import { rightsOf, serviceRole } from '../../postgres/schema/roles.ts'
import { type Check, type DatabaseWorld, failure, orOk, warning } from './check.ts'

const FIX =
  'Run `nightledger migrate` with DATABASE_URL and the MIGRATION_DATABASE_URL of the owner: it grants the role exactly the rights that it needs.'

/** Whether the role of DATABASE_URL has exactly the rights that the service needs. */
export const role: Check<DatabaseWorld> = {
  name: 'role',
  run: async ({ sql }) => {
    try {
      const { name, isOwner } = await serviceRole(sql)
      if (isOwner)
        return [
          warning(
            `The role ${name} owns the tables of the ledger: its password is enough to rewrite the journal.`,
            'Create a role for the service (docs/operating.md, Database roles), and run `nightledger migrate`.',
          ),
        ]
      const { missing, surplus } = await rightsOf(sql)
      return orOk(
        [
          ...(missing.length === 0 ? [] : [failure(`The role ${name} lacks rights: ${missing.join(', ')}.`, FIX)]),
          ...(surplus.length === 0
            ? []
            : [warning(`The role ${name} has rights that the service does not need: ${surplus.join(', ')}.`, FIX)]),
        ],
        `The role ${name} has the rights that the service needs, and owns no tables.`,
      )
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      return [failure(error.message, FIX)]
    }
  },
}
