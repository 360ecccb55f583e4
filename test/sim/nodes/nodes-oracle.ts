/** What must hold of simulated nodes, their ledger and what their clients were told. */
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { decodeEntry } from '../../../src/core/journal/entry-codec.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { isShown } from '../../../src/events/changes/change-page.ts'
import { MAKE_ALL_MS } from '../../../src/events/webhooks/delivery-maker.ts'
import type { JournalRow } from '../../support/memory-journal-store.ts'
import { brokenLedger, deliveredWrongly, undelivered } from '../oracle.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'
import type { NodesWorld } from './nodes-world.ts'

/** In which a delivery that was made is sent. */
const SENT_MS_MAX = 5_000

/** Every broken promise; empty if all hold. */
export async function brokenPromises(world: NodesWorld): Promise<string[]> {
  const { store, clients, nodes, network, cuts } = world
  return [
    ...brokenLedger({ store, acknowledged: clients.acknowledged, denied: clients.denied }),
    ...clients.stale,
    ...store.written,
    ...network.broken,
    ...cuts.broken,
    ...nodes.flatMap(({ name, bugs, appends }) => [
      ...bugs.map((bug) => `A bug ended ${name}: ${bug}`),
      ...appends.broken.map((what) => `${what}, by ${name}`),
    ]),
    ...unowned(world),
    ...(await held(world)),
    ...answeredTwice(world),
    ...unlikeFeed(world),
    ...(await unlikeReplay(world)),
    ...deliveredWrongly(world),
    ...(await neverDelivered(world)),
  ]
}

function unowned({ alive, isSettled }: NodesWorld): string[] {
  const owners = Array.from({ length: SHARDS }, (_, shard) =>
    alive.filter((node) => node.ownerOf(shard) === 'self').map(({ name }) => name),
  )
  const wrong = owners.flatMap((names, shard) => (names.length === 1 ? [] : `${shard}: ${names.join(' ') || 'nobody'}`))
  const healed = 'C7: after everything had healed,'
  if (wrong.length > 0) return [`${healed} shards were owned by ${wrong.slice(0, 5).join(', ')}`]
  return isSettled ? [] : [`${healed} some shards had another owner than they should have`]
}

/**
 * When everything has healed, no request waits for an owner. One whose connection was silent all the time may be given up only now, and
 * waits for a moment.
 */
async function held({ alive, clock }: NodesWorld): Promise<string[]> {
  let holding = alive
  for (let look = 0; holding.length > 0 && look < 3; look++) {
    if (look > 0) await clock.advance(1_000)
    holding = holding.filter(({ entry }) => entry.stats.holding > 0)
  }
  return holding.map(({ name }) => `C5: ${name} holds requests though every shard has an owner`)
}

/** A write with a key of its client, or of the node that it came in by, is made once. */
function answeredTwice({ store }: NodesWorld): string[] {
  return [...store.entriesOfKeys].flatMap(([key, entries]) =>
    entries.size === 1 ? [] : [`C8: the write with key ${key} was made ${entries.size} times`],
  )
}

/** Every reader of the feed was shown every change of its agency, once and in order, but perhaps the very last ones. */
function unlikeFeed({ store, readers, settledEntries }: NodesWorld): string[] {
  return readers.readers.flatMap(({ name, agency, shown, faults }) => {
    const isOfAgency = (row: JournalRow) => isShown([], row) && row.agencyId === agency.id
    const seqs = store.journal.filter(isOfAgency).map(({ seq }) => seq)
    const due = store.journal.slice(0, settledEntries).filter(isOfAgency).length
    const isSame = shown.length >= due && shown.every((seq, i) => seq === seqs[i])
    return [
      ...faults.map((fault) => `F1: the ${name} was answered ${fault}`),
      ...(isSame ? [] : [`F1: the ${name} was shown ${shown.join(' ')} of ${seqs.join(' ')}`]),
    ]
  })
}

/** Senders look at everything that may have been missed once a minute. */
async function neverDelivered(world: NodesWorld): Promise<string[]> {
  if (undelivered(world).length > 0) await world.clock.advance(MAKE_ALL_MS + SENT_MS_MAX)
  return undelivered(world)
}

/** The memory of every owner equals a full replay. */
async function unlikeReplay(world: NodesWorld): Promise<string[]> {
  const problems: string[] = []
  for (const agency of AGENCIES) {
    const node = world.alive.find((each) => each.ownerOf(shardOf(agency.id)) === 'self')
    if (node === undefined) continue
    for (const unit of unitsOf(agency.id)) {
      const written = entriesOf(world, unit.id).length
      const reading = Promise.allSettled([node.directory.read({ agencyId: agency.id, unitId: unit.id })])
      await world.clock.advance(200)
      const [read] = await reading
      if (read.status === 'rejected') {
        problems.push(`S1: ${unit.id} cannot be recovered: ${read.reason}`)
        continue
      }
      // A hold may expire meanwhile.
      const applied = entriesOf(world, unit.id).filter(({ seq }) => seq <= read.value.seq)
      const replayed = UnitState.empty(unit.id)
      for (const row of applied) replayed.apply(decodeEntry(row), row.seq)
      if (applied.length < written || stateHash(read.value) !== stateHash(replayed))
        problems.push(`S1: ${unit.id} is not what its journal says`)
    }
  }
  return problems
}

function entriesOf({ store }: NodesWorld, unitId: string): readonly JournalRow[] {
  return store.journal.filter((row) => row.unitId === unitId || row.otherUnitId === unitId)
}
