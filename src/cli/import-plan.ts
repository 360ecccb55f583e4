/** What an import changes in an agency as it is now. Pure; a plan made after the import is empty. */
import { HOLD_HOURS_MAX } from '../core/domain/booking.ts'
import { HOUR_MS } from '../lib/clock.ts'
import type { Flag } from './flags.ts'
import { type Folder, type Row, ratesByUnit } from './folder.ts'
import type { FolderMembers } from './operations.ts'
import type { Json } from './portal-client.ts'
import { restrictionsByUnit } from './restrictions.ts'

/** The agency as the service has it. */
export interface Existing {
  readonly units: readonly Json[]
  /** By slug of the unit. */
  readonly rates: ReadonlyMap<string, Json>
  /** By slug of the unit. */
  readonly restrictions: ReadonlyMap<string, Json>
  readonly feeTypes: readonly Json[]
  readonly bookings: readonly Json[]
  readonly now: number
}

export interface Step {
  /** Where it is in the folder. */
  readonly at: string
  readonly kind: 'create' | 'change'
  readonly part: 'units' | 'rates' | 'restrictions' | 'fee-types' | 'bookings'
  readonly method: 'POST' | 'PATCH' | 'PUT'
  /** Behind the agency's. */
  readonly path: string
  readonly body: Json
  /** To be sent once the booking exists: the exact expiry of a hold. */
  readonly holdExpiresAt?: string
  /** Path of a unit to be archived once the bookings are made: an archived one takes none. */
  readonly archives?: string
}

export interface Refusal {
  readonly at: string
  readonly reason: string
}

export interface Plan {
  readonly steps: readonly Step[]
  readonly unchanged: number
  readonly refused: readonly Refusal[]
  /** What exists, differs from the folder, and is left as it is. */
  readonly different: readonly Refusal[]
}

/** Members of a booking that are compared in a way of their own. */
const OWN_RULE: readonly string[] = ['sourceRef', 'holdHours']

export function planImport(folder: Folder, existing: Existing, members: FolderMembers): Plan {
  const draft: Draft = { steps: [], unchanged: 0, refused: [], different: [] }
  planUnits(folder.units, existing, draft, members.units)
  planRates(folder.rates, existing, draft)
  planRestrictions(folder.restrictions, existing, draft)
  planFeeTypes(folder['fee-types'], existing, draft, members['fee-types'])
  planBookings(folder, existing, draft, members)
  return draft
}

interface Draft {
  steps: Step[]
  unchanged: number
  refused: Refusal[]
  different: Refusal[]
}

function planUnits(rows: readonly Row[], existing: Existing, draft: Draft, members: readonly Flag[]): void {
  const known = new Map(existing.units.map((unit) => [unit['slug'], unit]))
  for (const { at, values } of once(rows, ({ values }) => values['slug'], 'slug', draft)) {
    // In a file an empty cell means the default, except where nothing is a value.
    const body = picked(values, members, ({ isNullable }, value) => value !== null || isNullable)
    const unit = known.get(values['slug'])
    const path = `/units/${encodeURIComponent(String(values['slug']))}`
    const { status, ...others } = unit === undefined ? body : changesOf(body, unit)
    const isArchived = status === 'archived'
    const now = isArchived || status === undefined ? others : { ...others, status }
    const step = { at, part: 'units', ...(isArchived && { archives: path }) } as const
    if (unit === undefined) draft.steps.push({ ...step, kind: 'create', method: 'POST', path: '/units', body: now })
    else if (isArchived) draft.steps.push({ ...step, kind: 'change', method: 'PATCH', path, body: now })
    else pushChange(draft, at, 'units', path, now)
  }
}

function planRates(rows: readonly Row[], existing: Existing, draft: Draft): void {
  const { units, wrong } = ratesByUnit(rows)
  for (const { at } of wrong)
    draft.refused.push({ at, reason: 'has no unit, or a kind that is not season, weekday or length_of_stay' })
  for (const { unit, at, rates } of units) {
    const known = existing.rates.get(unit)
    if (known !== undefined && canonical(known) === canonical(rates)) draft.unchanged += 1
    else pushReplacement(draft, at, 'rates', unit, { ...rates }, known)
  }
}

function planRestrictions(rows: readonly Row[], existing: Existing, draft: Draft): void {
  const { units, wrong } = restrictionsByUnit(rows)
  for (const { at } of wrong) draft.refused.push({ at, reason: 'has no unit or no rule' })
  for (const { unit, at, body } of units) {
    const known = existing.restrictions.get(unit)
    if (known !== undefined && Bun.deepEquals(known, body)) draft.unchanged += 1
    else pushReplacement(draft, at, 'restrictions', unit, { ...body }, known)
  }
}

/** Fee types have no address of their own: they are known by their label. */
function planFeeTypes(rows: readonly Row[], existing: Existing, draft: Draft, members: readonly Flag[]): void {
  const known = new Map(existing.feeTypes.map((feeType) => [feeType['label'], feeType]))
  for (const { at, values } of once(rows, ({ values }) => values['label'], 'label', draft)) {
    const body = picked(values, members, (_, value) => value !== null)
    const feeType = known.get(values['label'])
    if (feeType === undefined)
      draft.steps.push({ at, kind: 'create', part: 'fee-types', method: 'POST', path: '/fee-types', body })
    else pushChange(draft, at, 'fee-types', `/fee-types/${feeType['id']}`, changesOf(body, feeType))
  }
}

function planBookings(
  folder: Folder,
  existing: Existing,
  draft: Draft,
  { bookings, guests: ofGuest }: FolderMembers,
): void {
  const members = bookings.filter(({ name }) => !OWN_RULE.includes(name))
  const guests = new Map(
    folder.guests.flatMap(({ values }) => [values['id'], values['email']].map((key) => [key, values] as const)),
  )
  const differences = (values: Json, known: Json) =>
    members.filter(({ name }) => differsFrom(values, known, name)).map(({ name }) => name)
  const rows = folder.bookings.map((row): BookingRow => {
    const source = row.values['source'] ?? 'import'
    const sourceRef = row.values['sourceRef'] ?? `import:${row.values['id'] ?? hashOf(row.values)}`
    return { ...row, source, sourceRef, ref: refOf(source, sourceRef) }
  })
  const knownOf = knownBookings(rows, existing.bookings, differences)
  const live = new Map(rows.filter((row) => isLive(row) && knownOf.has(row)).map(({ ref, at }) => [ref, at] as const))
  const nights = new Nights()
  for (const row of rows) {
    const { at, values, source, sourceRef, ref } = row
    const known = knownOf.get(row)
    if (known !== undefined) {
      const differs = differences(values, known)
      if (differs.length === 0) draft.unchanged += 1
      else draft.different.push({ at, reason: `${known['id']} already exists with a different ${differs.join(', ')}` })
      continue
    }
    const first = live.get(ref)
    if (isLive(row) && first !== undefined) {
      draft.refused.push({ at, reason: `has the same source and sourceRef as ${first}` })
      continue
    }
    if (isLive(row)) live.set(ref, at)
    const step = bookingStep(row, { source, sourceRef }, guests, existing.now, { members, ofGuest })
    if ('reason' in step) {
      draft.refused.push(step)
      continue
    }
    const overlap = isLive(row) ? nights.take(at, values) : null
    if (overlap === null) draft.steps.push(step)
    else draft.refused.push({ at, reason: `overlaps with ${overlap}` })
  }
}

interface BookingRow extends Row {
  readonly source: unknown
  readonly sourceRef: unknown
  readonly ref: string
}

function isLive({ values }: Row): boolean {
  return values['status'] !== 'cancelled'
}

/**
 * The booking that each row is, if there is one: with its id, or else with its reference. A stay that was cancelled and booked again has the
 * same reference twice, so each row is first the booking that it equals.
 */
function knownBookings(
  rows: readonly BookingRow[],
  bookings: readonly Json[],
  differences: (values: Json, known: Json) => readonly string[],
): ReadonlyMap<Row, Json> {
  const byId = new Map(bookings.map((booking) => [booking['id'], booking]))
  const byRef = Map.groupBy(bookings, (booking) => refOf(booking['source'], booking['sourceRef']))
  const known = new Map<Row, Json>()
  const taken = new Set<Json>()
  const take = (find: (row: BookingRow) => Json | undefined) => {
    for (const row of rows) {
      const booking = known.has(row) ? undefined : find(row)
      if (booking === undefined) continue
      known.set(row, booking)
      taken.add(booking)
    }
  }
  const ofRef = ({ ref }: BookingRow) => (byRef.get(ref) ?? []).filter((booking) => !taken.has(booking))
  take(({ values }) => byId.get(values['id']))
  take((row) => ofRef(row).find((booking) => differences(row.values, booking).length === 0))
  take((row) => ofRef(row)[0])
  return known
}

function bookingStep(
  { at, values }: Row,
  { source, sourceRef }: { source: unknown; sourceRef: unknown },
  guests: ReadonlyMap<unknown, Json>,
  now: number,
  { members, ofGuest }: { members: readonly Flag[]; ofGuest: readonly Flag[] },
): Step | Refusal {
  const body: Json = { ...picked(values, members, (_, value) => value !== null), source, sourceRef }
  const guestRef = values['guest']
  if (guestRef != null) {
    const guest = typeof guestRef === 'object' ? (guestRef as Json) : guests.get(guestRef)
    if (guest === undefined) return { at, reason: `refers to the guest ${guestRef}, who is not in the folder` }
    const given = picked(guest, ofGuest, () => true)
    // An empty cell of a file is null, and a name may be empty, but not missing.
    for (const { name, isNullable } of ofGuest) if (given[name] === null && !isNullable) given[name] = ''
    body['guest'] = given
  }
  const step = { at, kind: 'create', part: 'bookings', method: 'POST', path: '/bookings', body } as const
  const ends = values['holdExpiresAt']
  if ((values['status'] !== 'draft' && values['status'] !== 'option') || typeof ends !== 'string') return step
  const left = Date.parse(ends) - now
  if (Number.isNaN(left)) return { at, reason: `has a holdExpiresAt that is not a timestamp: ${ends}` }
  if (left <= 0) return { at, reason: `is a hold that expired on ${ends}` }
  body['holdHours'] = Math.min(HOLD_HOURS_MAX, Math.ceil(left / HOUR_MS))
  return { ...step, holdExpiresAt: ends }
}

/** The live nights of bookings to be made, to distinguish a file that sells a night twice from a night that is already booked. */
class Nights {
  readonly #takenBy = new Map<string, { at: string; arrival: string; departure: string }[]>()

  /** @returns the booking that has one of the nights already; null if they were free, and are taken now */
  take(at: string, values: Json): string | null {
    const { unit, arrival, departure } = values as { unit: string; arrival: string; departure: string }
    const stays = this.#takenBy.get(unit) ?? []
    const other = stays.find((stay) => stay.arrival < departure && arrival < stay.departure)
    if (other !== undefined) return other.at
    this.#takenBy.set(unit, [...stays, { at, arrival, departure }])
    return null
  }
}

function* once(rows: readonly Row[], keyOf: (row: Row) => unknown, name: string, draft: Draft): Generator<Row> {
  const seen = new Map<unknown, string>()
  for (const row of rows) {
    const key = keyOf(row)
    const first = seen.get(key)
    if (typeof key !== 'string' || key === '') draft.refused.push({ at: row.at, reason: `has no ${name}` })
    else if (first !== undefined) draft.refused.push({ at: row.at, reason: `has the same ${name} as ${first}` })
    else {
      seen.set(key, row.at)
      yield row
    }
  }
}

function pushChange(draft: Draft, at: string, part: 'units' | 'fee-types', path: string, changes: Json): void {
  if (Object.keys(changes).length === 0) draft.unchanged += 1
  else draft.steps.push({ at, kind: 'change', part, method: 'PATCH', path, body: changes })
}

function pushReplacement(
  draft: Draft,
  at: string,
  part: 'rates' | 'restrictions',
  unit: string,
  body: Json,
  known: Json | undefined,
): void {
  const kind = known === undefined ? 'create' : 'change'
  draft.steps.push({ at, kind, part, method: 'PUT', path: `/units/${encodeURIComponent(unit)}/${part}`, body })
}

function changesOf(wanted: Json, known: Json): Json {
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => value !== known[name]))
}

function picked(values: Json, members: readonly Flag[], keep: (member: Flag, value: unknown) => boolean): Json {
  const kept = members.filter((member) => values[member.name] !== undefined && keep(member, values[member.name]))
  return Object.fromEntries(kept.map(({ name }) => [name, values[name]]))
}

function differsFrom(values: Json, known: Json, name: string): boolean {
  const wanted = values[name]
  if (wanted === undefined || wanted === null) return false
  return wanted !== (name === 'unit' ? known['unitSlug'] : known[name])
}

function refOf(source: unknown, sourceRef: unknown): string {
  return JSON.stringify([source, sourceRef])
}

/** The reference given to a booking that has none, to find it again. */
function hashOf({ unit, arrival, departure, type }: Json): string {
  return Bun.SHA256.hash(JSON.stringify([unit, arrival, departure, type ?? 'guest']), 'hex').slice(0, 32)
}

/** The same rates in whatever order, and with members in whatever order, are the same text. */
function canonical(rates: Json): string {
  const lists = ['seasons', 'weekdayAdjustments', 'lengthOfStayDiscounts'].map((name) =>
    ((rates[name] ?? []) as Json[]).map((element) => JSON.stringify(element, Object.keys(element).sort())).sort(),
  )
  return JSON.stringify(lists)
}
