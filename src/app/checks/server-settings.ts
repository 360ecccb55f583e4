import { type Check, type DatabaseWorld, orOk, warning } from './check.ts'

/** Settings that make the data safer, but that a start does not require. */
export const serverSettings: Check<DatabaseWorld> = {
  name: 'server-settings',
  run: async ({ sql }) => {
    const [row] = await sql<{ pages: string; checksums: string; autovacuum: string }[]>`
      select current_setting('full_page_writes') as "pages", current_setting('data_checksums') as "checksums",
             current_setting('autovacuum') as "autovacuum"`
    return orOk(
      [
        ...(row?.pages === 'off'
          ? [
              warning(
                'The setting full_page_writes is off: after a power failure, pages can be damaged unless the file system writes them whole.',
                '`psql -c "alter system set full_page_writes = on" -c "select pg_reload_conf()"`, as a superuser.',
              ),
            ]
          : []),
        ...(row?.checksums === 'off'
          ? [
              warning(
                'The server has no data checksums: corruption on disk goes unnoticed.',
                'Stop PostgreSQL, run `pg_checksums --enable -D DATA_FOLDER` with its data folder, and start it again.',
              ),
            ]
          : []),
        ...(row?.autovacuum === 'off'
          ? [
              warning(
                'The setting autovacuum is off: tables and indexes keep growing.',
                '`psql -c "alter system set autovacuum = on" -c "select pg_reload_conf()"`, as a superuser.',
              ),
            ]
          : []),
      ],
      'Data checksums, full_page_writes and autovacuum are on.',
    )
  },
}
