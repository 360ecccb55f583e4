import { UNCONFIRMED_FAULT, whileConfirmed } from '../http/server/not-serving.ts'
import { systemClock } from '../lib/clock.ts'
import { isOver } from '../lib/process-run.ts'
import { type PostgresWriters, servingNodes, type Writer } from '../postgres/stores/postgres-writers.ts'
import { awaitTurn, type Turn } from './await-turn.ts'
import {
  type EnteredLedger,
  type Entrance,
  type Membership,
  type OwnershipParts,
  TakeOverError,
  type TurnOptions,
} from './membership.ts'
import type { Ownership } from './ownership.ts'
import { WholeLedger } from './whole-ledger.ts'

/** The one process that serves; others are standbys, which wait for its turn to end. */
export class Alone implements Membership {
  readonly joinsLater = false

  openOwnership(parts: OwnershipParts): Ownership {
    return new WholeLedger(parts)
  }

  async enter(ledger: EnteredLedger): Promise<Entrance> {
    const { newId, catalogue } = ledger
    return {
      wrap:
        (_name, _listener, { hasProbes }) =>
        (answer) =>
          whileConfirmed(() => ledger.isConfirmed, answer, newId, { hasProbes }),
      peerOf: (listener, request) => listener.peerOf(request),
      agencies: { allAgencies: () => catalogue.agencies(), newAgencyId: () => newId('agc') },
      faults: (fence) => [
        ...(ledger.isConfirmed ? [] : [UNCONFIRMED_FAULT]),
        ...(fence !== null && fence.epoch !== ledger.epoch ? ['fence: another writer has taken over'] : []),
      ],
      routes: () => [],
      metrics: () => [],
    }
  }

  turn(turn: Turn, options: TurnOptions): Promise<readonly string[] | null> {
    return turnAlone(turn, options)
  }

  async join(): Promise<void> {}

  async leave(): Promise<void> {}

  async drained(): Promise<void> {}

  async close(): Promise<void> {}
}

/** `Membership.turn` of a process that serves alone, or of the parent of workers. */
export async function turnAlone(
  { writers, writerId }: Omit<Turn, 'warmUp'>,
  { takesOver, ...options }: TurnOptions,
): Promise<readonly string[] | null> {
  if (takesOver) {
    await refuseBesideNodes(writers)
    return null
  }
  const isAhead = (writer: Writer) => writer.writerId !== writerId
  const gone = await awaitTurn({ writers, isAhead, clock: systemClock, isOver, ...options })
  await writers.checkSchema()
  return gone
}

/**
 * Nodes take a shard back that is taken from them, and then it is this process that ends.
 * @throws TakeOverError when nodes serve
 */
async function refuseBesideNodes(writers: Pick<PostgresWriters, 'list'>): Promise<void> {
  const nodes = await servingNodes(writers)
  if (nodes.length > 0)
    throw new TakeOverError(
      `Cannot take over: the nodes ${nodes.join(', ')} of a cluster serve this database. Stop them, or start this process without --take-over: it waits until the last one is stopped.`,
    )
}
