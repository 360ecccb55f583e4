/**
 * A unit's state as a snapshot stores it.
 *
 * - S1 A snapshot carries a hash and a format version; one that does not match is never trusted.
 */
import { formatNight, type Night } from '../domain/night.ts'
import { BITMAP_SPAN, NightBitmap } from '../domain/night-bitmap.ts'
import { type UnitFacts, UnitState } from '../domain/unit-state.ts'
import { decodeRules, encodeRules } from './entry-codec.ts'
import { decodeNight } from './fields.ts'

/**
 * Increase it whenever the format below changes; older snapshots are then skipped, and the unit replayed. A unit whose oldest entries
 * were archived has nothing to replay: the snapshot that takes their place must stay readable (S2).
 */
export const SNAPSHOT_FORMAT = 1

export interface StoredSnapshot {
  readonly agencyId: string
  readonly unitId: string
  readonly seq: number
  readonly format: number
  readonly hash: string
  readonly state: string
}

export function encodeSnapshot(agencyId: string, state: UnitState): StoredSnapshot {
  const text = encodeState(state)
  return {
    agencyId,
    unitId: state.unitId,
    seq: state.seq,
    format: SNAPSHOT_FORMAT,
    hash: hashOf(state.unitId, text),
    state: text,
  }
}

const NO_EXTENSIONS: UnitFacts['extensions'] = []

/** Null when the snapshot cannot be trusted, with the reason for the log. */
export function decodeSnapshot(snapshot: StoredSnapshot): { state: UnitState | null; defect: string | null } {
  if (snapshot.format !== SNAPSHOT_FORMAT) return bad(`its format ${snapshot.format} is not ${SNAPSHOT_FORMAT}`)
  if (hashOf(snapshot.unitId, snapshot.state) !== snapshot.hash) return bad('its hash does not match')
  const facts = readFacts(snapshot.state)
  if (facts === null) return bad('it is not as it was written')
  if (facts.seq !== snapshot.seq) return bad('its sequence number does not match')
  return { state: UnitState.of(snapshot.unitId, facts), defect: null }
}

/** SHA-256 of the canonical text of a state: equal for equal states, however they came about. */
export function stateHash(state: UnitState): string {
  return hashOf(state.unitId, encodeState(state))
}

function bad(defect: string): { state: null; defect: string } {
  return { state: null, defect }
}

function hashOf(unitId: string, text: string): string {
  return new Bun.CryptoHasher('sha256').update(`${unitId}\n${text}`).digest('hex')
}

function encodeState(state: UnitFacts): string {
  return JSON.stringify({
    seq: state.seq,
    rules: encodeRules(state.rules),
    occupied: encodeNights(state.occupied),
    departures: encodeNights(state.departures),
    extensions: state.extensions.map(({ bookingId, from, to }) => [bookingId, formatNight(from), formatNight(to)]),
  })
}

function readFacts(text: string): UnitFacts | null {
  try {
    return decodeFacts(text)
  } catch {
    return null
  }
}

function decodeFacts(text: string): UnitFacts {
  const json = JSON.parse(text) as {
    seq: number
    rules: Record<string, unknown>
    occupied: number[]
    departures: number[]
    extensions: [string, string, string][]
  }
  return {
    seq: json.seq,
    rules: decodeRules(json.rules),
    occupied: decodeNights(json.occupied),
    departures: decodeNights(json.departures),
    extensions:
      json.extensions.length === 0
        ? NO_EXTENSIONS
        : json.extensions.map(([bookingId, from, to]) => ({
            bookingId,
            from: decodeNight(from),
            to: decodeNight(to),
          })),
  }
}

/** Runs of nights as day numbers `from, to, from, to …`: canonical, whatever the bitmap has allocated. */
function encodeNights(bitmap: NightBitmap): number[] {
  const runs: number[] = []
  let from = bitmap.firstIn(BITMAP_SPAN.from, BITMAP_SPAN.to)
  while (from !== null) {
    const to = bitmap.firstFreeFrom(from)
    runs.push(from, to)
    from = bitmap.firstIn(to, BITMAP_SPAN.to)
  }
  return runs
}

function decodeNights(runs: readonly number[]): NightBitmap {
  const bitmap = new NightBitmap()
  for (let i = 0; i + 1 < runs.length; i += 2) bitmap.setRange(runs[i] as Night, runs[i + 1] as Night)
  return bitmap.clone()
}
