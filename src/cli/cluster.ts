import type { Command } from 'commander'
import type { ClusterStatus, NodeStatus } from '../cluster/cluster-status.ts'
import { CliError, EXIT, RefusedError } from './exit-codes.ts'
import { type Session, serviceCommand } from './session.ts'
import { type Columns, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const COLUMNS: Columns<NodeStatus> = {
  NODE: 'id',
  STATE: 'state',
  SHARDS: ({ serving }) => String(serving),
  WANTED: ({ wanted }) => String(wanted),
  URL: 'url',
  VERSION: 'version',
  STARTED: 'startedAt',
}

/** The title of a 404 for a path that the service does not have. */
const NO_ROUTE = 'No such route'

/** `cluster`: the nodes and who owns what, as the node that answers sees it; and how to drain one. */
export function cluster(program: Command, terminal: Terminal): void {
  const noun = program.command('cluster').description('show the nodes of a cluster, or drain one')
  serviceCommand(
    noun,
    { name: 'status', summary: 'show nodes and shards', isOfAll: true },
    terminal,
    async (session) => {
      show(await ofNode(session, 'GET', '/cluster'), session)
    },
  )
  serviceCommand<{ undo?: true }>(
    noun,
    {
      name: 'drain <node>',
      summary:
        'move all shards of a node to the other nodes, until it restarts or loses its lease; it still accepts requests',
      isOfAll: true,
      options: (command) => command.option('--undo', 'end the drain'),
      examples: ['cluster drain node-b', 'cluster drain node-b --undo'],
    },
    terminal,
    async (session, { arguments: [node = ''], options }) => {
      const method = options.undo === true ? 'DELETE' : 'PUT'
      show(await ofNode(session, method, `/cluster/drains/${encodeURIComponent(node)}`), session)
    },
  )
}

/** What only a node serves, at the operator's address. @throws CliError when whoever answers is none */
async function ofNode(session: Session, method: string, path: string): Promise<unknown> {
  try {
    return await session.client.request(method, path)
  } catch (error) {
    if (!(error instanceof RefusedError) || error.body['title'] !== NO_ROUTE) throw error
    throw new CliError(
      'Refused: the service at this address does not serve /cluster.\n' +
        '  It is not a node (CLUSTER_ETCD is not set), or it has an ADMIN_PORT: then set NIGHTLEDGER_URL or --url to that.\n' +
        '  Or this is the address of the load balancer: use that of a node.',
      EXIT.refused,
    )
  }
}

function show(answer: unknown, session: Session): void {
  const status = answer as ClusterStatus
  if (session.isJson) {
    session.printJson(status)
    return
  }
  const { nodes, shards, etcd } = status
  session.terminal.out(table(nodes, COLUMNS))
  session.terminal.out(`${shards.served} of ${shards.total} shards are served.\n`)
  if (shards.notServed.length > 0)
    session.terminal.out(
      `Not served: ${shards.notServed.join(', ')}${shards.served + shards.notServed.length < shards.total ? ', …' : ''}\n`,
    )
  if (!etcd.isReachable)
    session.terminal.out(
      `etcd does not answer node ${status.node}, so this may be out of date${etcd.isFailsafe ? '; PostgreSQL confirms what the node serves' : ''}.\n`,
    )
}
