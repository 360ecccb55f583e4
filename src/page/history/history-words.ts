/** An audit entry in words: who did what, what is different now, and what came of it. */
import type { Schema } from '../api/schema.ts'
import { type BadgeTone, STATUS_LOOKS, TYPE_LOOKS } from '../design/status-looks.ts'
import { dayOf, dayText } from '../format/days.ts'
import { instantText } from '../format/instants.ts'
import { type Currency, money } from '../format/numbers.ts'
import { nameText } from '../format/texts.ts'
import { stayDates } from '../stays/stay-name.ts'

interface ActionWords {
  /** `cancelled a booking`. */
  readonly past: string
  /** `cancel a booking`. */
  readonly plain: string
}

const DEEDS: Readonly<Record<string, readonly [past: string, plain: string]>> = {
  'POST bookings': ['made a booking', 'make a booking'],
  'POST bookings/group': ['made a group of bookings', 'make a group of bookings'],
  'POST bookings/group/{}/cancel': ['cancelled a group of bookings', 'cancel a group of bookings'],
  'PATCH bookings/{}': ['changed a booking', 'change a booking'],
  'POST bookings/{}/cancel': ['cancelled a booking', 'cancel a booking'],
  'POST bookings/{}/erase-texts': ['erased the texts', 'erase the texts'],
  'PUT bookings/{}/notes': ['changed the notes', 'change the notes'],
  'PATCH guests/{}': ['changed a guest', 'change a guest'],
  'POST guests/{}/erase': ['erased a guest', 'erase a guest'],
  'after-restore': ['erased a guest again after a restore', 'erase a guest again after a restore'],
  'POST units': ['added a unit', 'add a unit'],
  'PATCH units/{}': ['changed a unit', 'change a unit'],
  'PUT units/{}/rates': ['set the rates of a unit', 'set the rates of a unit'],
  'PUT units/{}/restrictions': ['set the restrictions of a unit', 'set the restrictions of a unit'],
  'POST units/{}/calendar-feed': ['replaced a calendar address', 'replace a calendar address'],
  'POST fee-types': ['added a fee', 'add a fee'],
  'PATCH fee-types/{}': ['changed a fee', 'change a fee'],
  'POST keys': ['created an API key', 'create an API key'],
  'DELETE keys/{}': ['revoked an API key', 'revoke an API key'],
  'POST sandbox': ['made a sandbox', 'make a sandbox'],
  'POST sandbox/reset': ['made the sandbox new', 'make the sandbox new'],
  'DELETE sandbox': ['deleted the sandbox', 'delete the sandbox'],
  'POST sandbox/clock': ['moved the time of the sandbox', 'move the time of the sandbox'],
  'POST test/clock': ['moved the time of the sandbox', 'move the time of the sandbox'],
  'POST test/events': ['sent a test event', 'send a test event'],
  'POST access-tokens': ['created an access token', 'create an access token'],
  'DELETE access-tokens/{}': ['revoked an access token', 'revoke an access token'],
  'POST people': ['added a person', 'add a person'],
  'PATCH people/{}': ['changed a person', 'change a person'],
  'DELETE people/{}': ['removed a person', 'remove a person'],
  'POST people/{}/invitations': ['created another link for a person', 'create another link for a person'],
  'POST me/passkeys': ['added a passkey of their own', 'add a passkey of their own'],
  'PATCH me/passkeys/{}': ['renamed a passkey of their own', 'rename a passkey of their own'],
  'DELETE me/passkeys/{}': ['removed a passkey of their own', 'remove a passkey of their own'],
  'DELETE me/sessions': ['ended their other sessions', 'end their other sessions'],
  'DELETE me/sessions/{}': ['ended a session of their own', 'end a session of their own'],
  'POST webhook-endpoints': ['registered a webhook endpoint', 'register a webhook endpoint'],
  'PATCH webhook-endpoints/{}': ['changed a webhook endpoint', 'change a webhook endpoint'],
  'DELETE webhook-endpoints/{}': ['deleted a webhook endpoint', 'delete a webhook endpoint'],
  'POST webhook-endpoints/{}/ping': ['sent a test message', 'send a test message'],
  'POST webhook-endpoints/{}/rotate-secret': ['rotated a webhook secret', 'rotate a webhook secret'],
  'POST webhook-endpoints/{}/resend': ['resent deliveries of an endpoint', 'resend deliveries of an endpoint'],
  'POST deliveries/{}/resend': ['resent a delivery', 'resend a delivery'],
  'PUT retention': ['set how long data is kept', 'set how long data is kept'],
  'PATCH ': ['changed the agency’s settings', 'change the agency’s settings'],
  'POST agencies': ['created the agency', 'create the agency'],
  'POST /portal/session': ['signed in', 'sign in'],
  'DELETE /portal/session': ['signed out', 'sign out'],
  retention: ['removed what is no longer kept', 'remove what is no longer kept'],
  'hold timer': ['released an expired hold', 'release an expired hold'],
  demo: ['set up the demo', 'set up the demo'],
}

/** What was done. Each deed reads after a name, and after "tried to". @param route method and path template, `POST /partner/v1/bookings` */
export function actionWords(route: string): ActionWords {
  const short = route
    .replace(/ \/(?:partner|portal)\/v1\//, ' ')
    .replace(/agencies\/\{agencySlug\}\/?/, '')
    .replaceAll(/\{\w+\}/g, '{}')
  const [past, plain] = DEEDS[short] ?? ['sent a request', 'send a request']
  return { past, plain }
}

export type AuditEntry = Schema<'AuditEntry'>
/** The part of an audit entry that the history of a booking shows. */
export type HistoryLine = Omit<AuditEntry, 'bookingId' | 'requestId' | 'traceId' | 'change'> & {
  readonly change: AuditChange | null
}

/** The trail of a booking has no guest who was erased. */
export function isHistoryLine(entry: AuditEntry): entry is AuditEntry & HistoryLine {
  return entry.change?.kind !== 'guest_erased'
}

export interface ActorWords {
  readonly name: string
  /** What it is, when the name does not say. */
  readonly kind: string | null
}

/** Who did it. */
export function actorWords({ actor: { kind, name }, route }: Pick<AuditEntry, 'actor' | 'route'>): ActorWords {
  switch (kind) {
    case 'key':
      return { name: nameText(name ?? 'A key without a name'), kind: 'API key' }
    case 'access_token':
      return { name: nameText(name ?? 'A token without a name'), kind: 'access token' }
    case 'person':
      return { name: nameText(name ?? 'Someone at the agency'), kind: null }
    case 'portal':
      return { name: 'The operator', kind: null }
    case 'system':
      return route === 'demo' ? { name: 'Demo data', kind: null } : { name: 'Timer', kind: 'automatic' }
  }
}

export type AuditChange = Schema<'AuditChange'>
type Stay = Schema<'AuditedStay'>

export interface ChangedMember {
  readonly label: string
  /** Null for what was not there before. */
  readonly before: string | null
  readonly after: string
}

const KINDS = {
  'booking.created': 'booking_created',
  'booking.updated': 'booking_changed',
  'booking.cancelled': 'booking_cancelled',
} as const
const WHO = {
  partner: { kind: 'key', id: null, name: 'A partner' },
  agency: { kind: 'person', id: null, name: 'The agency' },
  system: { kind: 'system', id: null, name: null },
} as const

/**
 * The history of a booking from the journal, newest first, each change with the state before it.
 * @param history oldest first; if its first changes are no longer kept, the state before the oldest is not known
 */
export function historyLines(
  history: readonly Schema<'HistoryEntry'>[],
  { type, nameOf }: { type: Stay['type']; nameOf: (unitSlug: string) => string },
): HistoryLine[] {
  const stays = history.map(({ status, unitSlug, arrival, departure, totalAmount }) => ({
    ...{ unitSlug, unitName: nameOf(unitSlug), type, status, arrival, departure, totalAmount },
    holdExpiresAt: null,
    expectedUntil: null,
  }))
  const lines = history.map(({ version, at, event, by, unitSlug }, index) => ({
    id: String(version),
    at,
    actor: WHO[by],
    route: by === 'system' ? 'hold timer' : '',
    outcome: 'OK',
    pricing: null,
    count: 1,
    change: {
      kind: KINDS[event],
      unitSlug,
      unitName: nameOf(unitSlug),
      before: stays[index - 1] ?? null,
      after: stays[index] ?? null,
    },
  }))
  return lines.toReversed()
}

export interface WordsContext {
  readonly currency: Currency
  readonly timezone: string
}

/** What was done to the booking, after a name: `confirmed it`. */
export function changeAction({ kind, before, after }: AuditChange): string {
  if (kind === 'unit_set' || after === null) return 'changed the unit'
  if (before === null) return kind === 'booking_created' ? creationAction(after) : 'changed it'
  if (kind === 'booking_cancelled')
    return before.status === 'option' || before.status === 'draft' ? 'released the hold' : 'cancelled it'
  if (before.status !== after.status) return STATUS_DEEDS[after.status]
  if (before.unitSlug !== after.unitSlug) return 'moved it to another unit'
  if (before.arrival !== after.arrival || before.departure !== after.departure) return 'changed its dates'
  if (before.holdExpiresAt !== after.holdExpiresAt) return 'changed when the hold expires'
  if (before.expectedUntil !== after.expectedUntil)
    return after.expectedUntil === null ? 'no longer expects an extension' : 'noted an expected extension'
  return 'changed it'
}

const STATUS_DEEDS: Readonly<Record<Stay['status'], string>> = {
  draft: 'made it a draft',
  option: 'put it on hold',
  confirmed: 'confirmed it',
  checked_in: 'checked the guest in',
  checked_out: 'checked the guest out',
  cancelled: 'cancelled it',
}

function creationAction({ type, status }: Stay): string {
  if (type !== 'guest') return `added it: ${TYPE_LOOKS[type].label.toLowerCase()}`
  if (status === 'option' || status === 'draft') return 'put the nights on hold'
  return status === 'confirmed' ? 'booked it' : `added it: ${STATUS_LOOKS[status].label.toLowerCase()}`
}

/** Every member that differs; of a new booking, what it was made with. */
export function changedMembers(
  { before, after }: Pick<AuditChange, 'before' | 'after'>,
  context: WordsContext,
): ChangedMember[] {
  if (after === null) return []
  const now = membersOf(after, context)
  if (before === null) {
    const shown = ['Unit', 'Stay', 'Price']
    return now.filter(({ label, text }) => shown.includes(label) && text !== null).map(added)
  }
  const then = membersOf(before, context)
  const isOtherStatus = before.status !== after.status
  return now.flatMap(({ label, text }, index) => {
    const was = then[index]?.text ?? null
    // What ends with the status needs no line of its own.
    if (was === text || (text === null && isOtherStatus)) return []
    return [{ label, before: was, after: text ?? 'no longer' }]
  })
}

const added = ({ label, text }: Member): ChangedMember => ({ label, before: null, after: text ?? '' })

interface Member {
  readonly label: string
  readonly text: string | null
}

/** In the order in which they are told. */
function membersOf(stay: Stay, { currency, timezone }: WordsContext): Member[] {
  const { type, status, holdExpiresAt, expectedUntil } = stay
  return [
    { label: 'Status', text: STATUS_LOOKS[status].label },
    { label: 'Unit', text: stay.unitName },
    { label: 'Stay', text: stayDates(stay) },
    { label: 'Price', text: type === 'guest' ? money(stay.totalAmount, currency) : null },
    { label: 'Held until', text: holdExpiresAt === null ? null : instantText(holdExpiresAt, timezone) },
    { label: 'Expected until', text: expectedUntil === null ? null : dayText(dayOf(expectedUntil)) },
  ]
}

interface OutcomeWords {
  /** For a filter and a badge. */
  readonly label: string
  /** After "refused:". Null when nothing was refused. */
  readonly reason: string | null
  readonly tone: BadgeTone
}

const refused = (label: string, reason: string): OutcomeWords => ({ label, reason, tone: 'warn' })
const failed = (label: string, reason: string): OutcomeWords => ({ label, reason, tone: 'bad' })

/** Every outcome that the audit trail may show, the commonest first. */
export const OUTCOMES: Readonly<Record<string, OutcomeWords>> = {
  OK: { label: 'Done', reason: null, tone: 'good' },
  REPLAYED: { label: 'Repeated', reason: null, tone: 'neutral' },
  BOOKING_CONFLICT: refused('Nights taken', 'the nights were already booked'),
  TURNOVER_BLOCK_CONFLICT: refused('Cleaning night', 'the arrival fell on a cleaning night'),
  EXPECTED_EXTENSION_CONFLICT: refused('Extension expected', 'the guest in house was expected to stay on'),
  MIN_STAY: refused('Stay too short', 'the stay was shorter than the minimum'),
  QUOTE_CHANGED: refused('Price changed', 'the price was no longer the quoted one'),
  INVALID_TRANSITION: refused('Wrong status', 'its status did not allow it'),
  VERSION_CHANGED: refused('Changed by someone else', 'someone else had just changed it'),
  RESTRICTIONS_CHANGED: refused('Changed by someone else', 'someone else had just changed the restrictions'),
  RESTRICTED: refused('Restricted', 'the restrictions of the unit did not allow the stay'),
  RATES_CHANGED: refused('Changed by someone else', 'someone else had just changed the rates'),
  NOTES_CHANGED: refused('Changed by someone else', 'someone else had just changed the notes'),
  VALIDATION: refused('Invalid request', 'the request was not valid'),
  NOT_FOUND: refused('Not found', 'it does not exist'),
  EMAIL_TAKEN: refused('E-mail taken', 'somebody else has that e-mail address'),
  SLUG_TAKEN: refused('Slug taken', 'the slug was in use'),
  SANDBOX_EXISTS: refused('Sandbox exists', 'the agency already had a sandbox'),
  SCOPE_MISSING: refused('Permission missing', 'the key does not have the permission'),
  ROLE_MISSING: refused('Role too low', 'the role does not allow it'),
  CROSS_ORIGIN: refused('Other site', 'the request came from another site'),
  PEOPLE_ONLY: refused('People only', 'only people have passkeys'),
  OIDC_ONLY: refused('Provider only', 'people can sign in only with the identity provider'),
  LINK_NOT_VALID: refused('Link not valid', 'the link was not valid'),
  LAST_OWNER: refused('Last owner', 'the agency would have no owner left who can sign in'),
  LAST_PASSKEY: refused('Last passkey', 'it was the last passkey'),
  PASSKEY_CLONED: failed('Copied passkey', 'a copy of the passkey may have been used'),
  FEATURE_DISABLED: refused('Not in plan', 'the plan does not include the API'),
  UNAUTHORIZED: refused('Invalid credentials', 'the key, token or passkey was not valid'),
  RATE_LIMITED: refused('Rate limit', 'there were too many requests in a minute'),
  QUOTA_EXCEEDED: refused('Quota used up', 'the month’s requests were used up'),
  IDEMPOTENCY_KEY_REUSED: refused('Idempotency key reused', 'its idempotency key belongs to another request'),
  INTERNAL: failed('Failed', 'the service failed, and nothing was changed'),
  OUTCOME_UNKNOWN: failed('Outcome unknown', 'the service failed before it knew the outcome'),
}

export function outcomeWords(outcome: string): OutcomeWords {
  return OUTCOMES[outcome] ?? refused(outcome, outcome.toLowerCase().replaceAll('_', ' '))
}
