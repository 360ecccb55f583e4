/** The changes that a channel's feed requires to the blocks of earlier imports. Pure. */
import { formatNight } from '../core/domain/night.ts'
import type { FeedEvent } from '../events/ical/feed.ts'

interface Dates {
  readonly arrival: string
  readonly departure: string
}

/** A live block of this channel and unit. */
export interface KnownBlock extends Dates {
  readonly id: string
  readonly sourceRef: string
}

export type FeedStep =
  | { readonly kind: 'cancel'; readonly id: string; readonly uid: string; readonly reason: string }
  | ({ readonly kind: 'move'; readonly id: string; readonly uid: string } & Dates)
  | ({ readonly kind: 'create'; readonly uid: string; readonly sourceRef: string } & Dates)

/** Why an event of the feed is not, or not entirely, imported. */
export interface Note {
  readonly uid: string
  readonly reason: string
}

export interface FeedPlan {
  /** In the order in which to run them: nights are freed before others are taken. None while there is a suspicion. */
  readonly steps: readonly FeedStep[]
  /** The steps of a suspicious feed, which are shown and not run. */
  readonly withheld: readonly FeedStep[]
  /** Why the feed is not imported unless the agency confirms it; null when it is imported. */
  readonly suspicion: string | null
  readonly unchanged: number
  readonly passedOver: readonly Note[]
  readonly refused: readonly Note[]
}

/** See docs/contract.md#limits: `sourceRef` has at most 120 characters, and a UID may have more. */
const REF_LENGTH_MAX = 120

/** The reference under which an event is found again. */
export function refOf(uid: string): string {
  return uid.length <= REF_LENGTH_MAX ? uid : `sha256:${Bun.SHA256.hash(uid, 'hex')}`
}

/**
 * @param today past blocks are left alone, whatever the feed says: channels drop past events
 * @param allowMassCancellation imports a feed without events, which cancels every upcoming block, or one that cancels more than half of three
 *   or more upcoming blocks
 * @param keepMissing leaves blocks alone whose event is no longer in the feed; channels drop cancelled ones silently
 */
export function planFeed(
  events: readonly FeedEvent[],
  known: readonly KnownBlock[],
  {
    today,
    keepMissing,
    allowMassCancellation = false,
  }: { today: string; keepMissing: boolean; allowMassCancellation?: boolean },
): FeedPlan {
  const blocks = new Map(known.map((block) => [block.sourceRef, block]))
  const seen = new Set<string>()
  const cancels: Extract<FeedStep, { kind: 'cancel' }>[] = []
  const [moves, creates]: [FeedStep[], FeedStep[]] = [[], []]
  const passedOver: Note[] = []
  const refused: Note[] = []
  let unchanged = 0
  for (const event of events) {
    const { uid } = event
    const block = blocks.get(refOf(uid))
    seen.add(refOf(uid))
    if (event.kind === 'refused') refused.push({ uid, reason: event.reason })
    else if (event.kind !== 'taken') {
      if (event.kind === 'skipped') passedOver.push({ uid, reason: event.reason })
      if (block !== undefined && block.departure > today)
        cancels.push({ kind: 'cancel', id: block.id, uid, reason: 'cancelled in the feed' })
      else if (event.kind === 'cancelled') unchanged += 1
    } else {
      const [arrival, departure] = [formatNight(event.stay.arrival), formatNight(event.stay.departure)]
      if (departure <= today && (block?.departure ?? departure) <= today) passedOver.push({ uid, reason: 'is over' })
      else if (block === undefined) creates.push({ kind: 'create', uid, sourceRef: refOf(uid), arrival, departure })
      else if (block.arrival === arrival && block.departure === departure) unchanged += 1
      else moves.push({ kind: 'move', id: block.id, uid, arrival, departure })
    }
  }
  for (const block of known) {
    const isGone = !seen.has(block.sourceRef) && block.departure > today
    if (isGone && !keepMissing)
      cancels.push({ kind: 'cancel', id: block.id, uid: block.sourceRef, reason: 'no longer in the feed' })
  }
  const suspicion = suspicionOf({
    events: events.length,
    upcoming: known.filter(({ departure }) => departure > today).length,
    cancelled: cancels.length,
    keepMissing,
  })
  const steps = [...cancels, ...moves, ...creates]
  const isWithheld = suspicion !== null && !allowMassCancellation
  return {
    ...(isWithheld ? { steps: [], withheld: steps, suspicion } : { steps, withheld: [], suspicion: null }),
    unchanged,
    passedOver,
    refused,
  }
}

/** With fewer blocks than this, an ordinary day can cancel most of them. */
const UPCOMING_BLOCKS_MIN = 3

/**
 * A feed that a channel failed to fill looks as if all its reservations were cancelled, and a night that is freed can be sold at once.
 * `upcoming`: known blocks that are not over. Null when nothing is suspicious.
 */
function suspicionOf(input: {
  events: number
  upcoming: number
  cancelled: number
  keepMissing: boolean
}): string | null {
  const { events, upcoming, cancelled, keepMissing } = input
  const isMost = upcoming >= UPCOMING_BLOCKS_MIN && cancelled > upcoming / 2
  // With `keepMissing`, what is not in the feed cancels nothing.
  const isEmpty = events === 0 && upcoming > 0 && !keepMissing
  if (!isEmpty && !isMost) return null
  const would = `would cancel ${cancelled} of ${upcoming} upcoming blocks`
  return isEmpty ? `the feed has no events and ${would}` : `the feed ${would}`
}
