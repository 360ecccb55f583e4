import type { Command } from 'commander'
import type { ClusterStatus, NodeStatus } from '../cluster/cluster-status.ts'
import { asking, type Session } from './session.ts'
import { type Column, table } from './table.ts'
import type { Terminal } from './terminal.ts'

const COLUMNS: readonly Column<NodeStatus>[] = [
  { title: 'NODE', value: ({ id }) => id },
  { title: 'STATE', value: ({ state }) => state },
  { title: 'SHARDS', value: ({ serving }) => serving },
  { title: 'WANTED', value: ({ wanted }) => wanted },
  { title: 'URL', value: ({ url }) => url },
  { title: 'VERSION', value: ({ version }) => version },
  { title: 'STARTED', value: ({ startedAt }) => startedAt },
]

/** `cluster`: the nodes and who owns what, as the asked node sees it; and how to drain one. */
export function cluster(program: Command, terminal: Terminal): void {
  const noun = program.command('cluster').description('show the nodes of a cluster, and drain one')
  asking(noun, { name: 'status', summary: 'show nodes and shards', isOfAll: true }, terminal, async (session) => {
    show(await session.client.ofOperator('GET', '/cluster'), session)
  })
  asking(
    noun,
    {
      name: 'drain <node>',
      summary: 'move all shards of a node to others until it is restarted; it still accepts requests',
      isOfAll: true,
      options: (command) => command.option('--undo', 'end the drain'),
      examples: ['cluster drain node-b', 'cluster drain node-b --undo'],
    },
    terminal,
    async (session, { arguments: [node = ''], options }) => {
      const method = options.undo === true ? 'DELETE' : 'PUT'
      show(await session.client.ofOperator(method, `/cluster/drains/${encodeURIComponent(node)}`), session)
    },
  )
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
