/**
 * The engine of a node in a process of its own, told over HTTP which shards it has: what etcd decides elsewhere, a test decides. On
 * `/engine/…`; the partners' API beside it.
 */
import { prepareLedger } from '../../../src/app/open-ledger.ts'
import { openNodeLedger } from '../../../src/cluster/cluster-member.ts'
import type { NodeLedger } from '../../../src/cluster/node-ledger.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { DEFAULT_LIMITS } from '../../support/open-ledger.ts'
import { appOver } from '../../support/test-service.ts'

const [databaseUrl = '', secretKeyHex = '', node = ''] = process.argv.slice(2)

const failures: string[] = []
const fail = (error: unknown): void => {
  failures.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
}
const bug = (error: unknown): void => {
  console.error(error)
  process.exit(1)
}
process.on('uncaughtException', bug)
process.on('unhandledRejection', bug)

const fenced: number[] = []
const ownership = Promise.withResolvers<NodeLedger>()
const { ledger, begin } = await prepareLedger({
  databaseUrl,
  secretKey: Uint8Array.fromHex(secretKeyHex),
  clock: systemClock,
  limits: DEFAULT_LIMITS,
  holder: `engine ${node}`,
  openOwnership: (parts) => {
    const opened = openNodeLedger({ node, parentId: null }, parts)
    ownership.resolve(opened)
    return opened
  },
  watch: {
    onFenced: bug,
    onEntriesLost: fail,
    onSnapshotDefect: ({ defect }) => fail(new Error(defect)),
    onDamagedUnit: fail,
    onSnapshotFailure: fail,
    onHoldTimerFailure: fail,
    onHoldFailure: ({ err }) => fail(err),
    onBug: bug,
    onHousekeepingFailure: fail,
    onTakeOverFailure: fail,
    onConfirmed: () => {},
    onCountersNotWritten: fail,
  },
})
await begin()
const { shards } = await ownership.promise
shards.onFenced = (lost) => fenced.push(...lost)

const app = appOver(
  { ledger: { ...ledger, journal: ledger.journal, reports: { fenced: [], defects: [], damaged: [], failures: [] } } },
  { log: { error: () => {} }, onBug: bug },
)

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: async (request) => {
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith('/engine/')) return app.handle(request)
    try {
      return Response.json(await command(pathname.slice('/engine/'.length), request))
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 500 })
    }
  },
})

async function command(name: string, request: Request): Promise<unknown> {
  if (shards === null) return null
  const pending = request.method === 'POST' ? ((await request.json()) as number[]) : []
  if (name === 'acquire') await shards.acquire(pending)
  else if (name === 'release') await shards.release(pending)
  else if (name === 'drop') shards.drop(pending)
  else if (name === 'confirm') await shards.confirm()
  else if (name === 'close') setTimeout(() => void ledger.close().then(() => process.exit(0)))
  return { owned: [...shards.owned], fenced, failures }
}

console.log(`LISTENING ${server.port}`)
