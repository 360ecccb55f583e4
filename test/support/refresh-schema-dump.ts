import { connect } from '../../src/postgres/client/connect.ts'
import { dumpSchema } from '../../src/postgres/schema/schema-dump.ts'
import { TEMPLATE_DATABASE } from './postgres.ts'
import { startTestServer } from './test-server.ts'

/* `bun run schema:dump`: writes sql/schema.dump.sql anew from the migrations. */

export const SCHEMA_DUMP_FILE = 'sql/schema.dump.sql'

if (import.meta.main) {
  const server = await startTestServer((step) => console.log(step))
  try {
    if (server.templateFailure) throw server.templateFailure
    const url = new URL(server.url)
    url.pathname = `/${TEMPLATE_DATABASE}`
    const sql = connect(url.href, { purpose: 'admin' })
    await Bun.write(SCHEMA_DUMP_FILE, await dumpSchema(sql))
    await sql.end()
    console.log(`Wrote ${SCHEMA_DUMP_FILE}`)
  } finally {
    await server.stop()
  }
}
