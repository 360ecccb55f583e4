import { connectionsOf } from '../open-database.ts'
import { type Check, type DatabaseWorld, failure, ok } from './check.ts'

interface Room {
  readonly max: number
  readonly others: number
}

/** Whether the server has room for this service's connections beside those that other roles hold now. */
export const connections: Check<DatabaseWorld> = {
  name: 'connections',
  run: async ({ sql, config }) => {
    // Of other roles' connections, PostgreSQL shows only the role.
    const [room] = await sql<Room[]>`
      select least(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
                     - coalesce(current_setting('reserved_connections', true), '0')::integer,
                   (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
                   (select nullif(datconnlimit, -1) from pg_database where datname = current_database())) as "max",
             (select count(*) from pg_stat_activity where usename <> current_user)::integer as "others"`
    const { max, others } = room ?? { max: 0, others: 0 }
    const needed = connectionsOf(config.workers)
    const text = `The server has room for ${max} connections, of which other roles use ${others}; this service needs up to ${needed}`
    if (max - others >= needed) return [ok(`${text}.`)]
    return [
      failure(
        `${text}: some of its connections will be refused.`,
        `\`psql -c "alter system set max_connections = ${others + needed + 20}"\` as a superuser, and restart PostgreSQL; or lower WORKERS; or raise the connection limit of the role or database.`,
      ),
    ]
  },
}
