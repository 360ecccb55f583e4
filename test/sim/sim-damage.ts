import { UnitState } from '../../src/core/domain/unit-state.ts'
import { decodeEntry, type StoredEntry } from '../../src/core/journal/entry-codec.ts'
import { CorruptLedgerError } from '../../src/core/journal/journal-error.ts'
import { recoverStored } from '../../src/core/journal/recovery.ts'
import { decodeSnapshot, type StoredSnapshot } from '../../src/core/journal/snapshot-codec.ts'
import { AssertionError } from '../../src/lib/assert.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { SimStore } from './sim-store.ts'

const KINDS = ['flipped', 'missing', 'foreign', 'twice', 'snapshot cut short', 'snapshot of another number'] as const
type Kind = (typeof KINDS)[number]

/**
 * What recovery reads of one unit in place of what was written. The log itself stays as it is: it says what is right, and repairs the
 * unit when this ends. A row that is missing without contradicting another one is for `verify` to find, and is not one of these.
 */
export class Damage {
  readonly unitId: string
  readonly #seq: number
  readonly #kind: Kind
  readonly #foreign: StoredEntry

  private constructor(options: { unitId: string; seq: number; kind: Kind; foreign: StoredEntry }) {
    this.unitId = options.unitId
    this.#seq = options.seq
    this.#kind = options.kind
    this.#foreign = options.foreign
  }

  /** To one of the unit's rows, if it has enough. */
  static to(unitId: string, store: SimStore, dice: SeededRandom): Damage | null {
    const entries = store.journal.filter((row) => row.unitId === unitId || row.otherUnitId === unitId)
    const foreign = store.journal.filter((row) => row.unitId !== unitId && row.otherUnitId !== unitId)
    if (entries.length < 3 || foreign.length === 0) return null
    const { seq } = dice.pick(entries)
    const damage = new Damage({ unitId, seq, kind: dice.pick(KINDS), foreign: dice.pick(foreign) })
    const snapshots = store.snapshots.filter((snapshot) => snapshot.unitId === unitId)
    return damage.#kind === 'missing' && !damage.#isFoundIn(entries, snapshots) ? null : damage
  }

  entries(unitId: string, entries: readonly StoredEntry[]): readonly StoredEntry[] {
    if (unitId !== this.unitId) return entries
    return entries.flatMap((entry) => (entry.seq === this.#seq ? this.#inPlaceOf(entry) : entry))
  }

  snapshots(unitId: string, [newest, ...older]: readonly StoredSnapshot[]): readonly StoredSnapshot[] {
    if (newest === undefined) return older
    if (unitId !== this.unitId || !this.#kind.startsWith('snapshot')) return [newest, ...older]
    const damaged =
      this.#kind === 'snapshot cut short'
        ? newest.state.slice(0, -1)
        : newest.state.replace(/"seq":\d+/, `"seq":${newest.seq + 1}`)
    // With a hash that fits: as if it had been written like this.
    const hash = new Bun.CryptoHasher('sha256').update(`${unitId}\n${damaged}`).digest('hex')
    return [{ ...newest, state: damaged, hash }, ...older]
  }

  #inPlaceOf(entry: StoredEntry): readonly StoredEntry[] {
    switch (this.#kind) {
      case 'flipped':
        return [{ ...entry, payload: entry.payload.replace('{', '{ ') }]
      case 'missing':
        return []
      case 'foreign':
        return [{ ...this.#foreign, seq: entry.seq, unitId: entry.unitId }]
      case 'twice':
        return [entry, entry]
      default:
        return [entry]
    }
  }

  /** Whether what is left contradicts itself, wherever recovery begins. */
  #isFoundIn(entries: readonly StoredEntry[], snapshots: readonly StoredSnapshot[]): boolean {
    const states = snapshots.flatMap((snapshot) => decodeSnapshot(snapshot).state ?? [])
    const begins = [UnitState.empty(this.unitId), ...states.filter(({ seq }) => seq < this.#seq)]
    return begins.every((state) => {
      const tail = entries.filter(({ seq }) => seq > state.seq)
      return !isReplayed(state, this.entries(this.unitId, tail))
    })
  }
}

function isReplayed(state: UnitState, entries: readonly StoredEntry[]): boolean {
  try {
    for (const entry of entries) state.apply(decodeEntry(entry), entry.seq)
    return true
  } catch {
    return false
  }
}

/** Makes a broken build: what is stored of a unit and contradicts itself is a bug there. */
export function assertOnDamage(store: SimStore): void {
  const load = store.loadUnit.bind(store)
  store.loadUnit = async (agencyId, unitId) => {
    const stored = await load(agencyId, unitId)
    await recoverStored(store, { agencyId, unitId }, stored, () => {}).catch((error: unknown) => {
      throw error instanceof CorruptLedgerError ? new AssertionError(error.message) : error
    })
    return stored
  }
}
