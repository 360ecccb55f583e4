import type { BadgeTone } from '../design/status-looks.ts'

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
  RATES_CHANGED: refused('Changed by someone else', 'someone else had just changed the rates'),
  NOTES_CHANGED: refused('Changed by someone else', 'someone else had just changed the notes'),
  VALIDATION: refused('Invalid request', 'the request was not valid'),
  NOT_FOUND: refused('Not found', 'it does not exist'),
  EMAIL_TAKEN: refused('E-mail taken', 'another guest has that e-mail address'),
  SLUG_TAKEN: refused('Slug taken', 'the slug was in use'),
  SCOPE_MISSING: refused('Permission missing', 'the key does not have the permission'),
  ROLE_MISSING: refused('Role too low', 'the role does not allow it'),
  CROSS_ORIGIN: refused('Other site', 'the request came from another site'),
  FEATURE_DISABLED: refused('Not in plan', 'the plan does not include the API'),
  UNAUTHORIZED: refused('Invalid key or token', 'the key or token was not valid'),
  RATE_LIMITED: refused('Rate limit', 'there were too many requests in a minute'),
  QUOTA_EXCEEDED: refused('Quota used up', 'the month’s requests were used up'),
  IDEMPOTENCY_KEY_REUSED: refused('Idempotency key reused', 'its idempotency key belongs to another request'),
  INTERNAL: failed('Failed', 'the service failed, and nothing was changed'),
  OUTCOME_UNKNOWN: failed('Outcome unknown', 'the service failed before it knew the outcome'),
}

export function outcomeWords(outcome: string): OutcomeWords {
  return OUTCOMES[outcome] ?? refused(outcome, outcome.toLowerCase().replaceAll('_', ' '))
}
