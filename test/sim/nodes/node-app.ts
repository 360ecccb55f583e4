/** What a simulated node answers with: the real commands, idempotent writes and change feed behind a few routes. */

import type { BookingCommands } from '../../../src/core/bookings/booking-commands.ts'
import type { BookingRequest, FoundOutcome, KeepAnswer } from '../../../src/core/bookings/booking-turns.ts'
import type { GroupDone, GroupRefused, KeepGroup } from '../../../src/core/bookings/group-commands.ts'
import { afterWrite } from '../../../src/core/bookings/write-error.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Booking, BookingStatus } from '../../../src/core/domain/booking.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import type { Caller, IdempotencyDraft } from '../../../src/core/journal/record.ts'
import type { ChangeFeed } from '../../../src/events/changes/change-feed.ts'
import { isProblem, plainHeaders, problemAnswer } from '../../../src/http/answer.ts'
import { answerChanges } from '../../../src/http/change-requests.ts'
import type { IdempotentWrites } from '../../../src/http/idempotent-writes.ts'
import { idempotencyKeyOf, requestHashOf } from '../../../src/http/idempotent-writes.ts'
import { failureOf } from '../../../src/http/problem-of.ts'
import { targetOf } from '../../../src/http/request.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { night, sampleId } from '../../support/samples.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'

export const CALLER: Caller = { actor: { kind: 'key', id: sampleId('key', 'a') }, route: 'sim', requestId: null }
const FIRST = night('2027-03-01')

/** What a client asks for. `unit` is an index. */
export type SimCommand =
  | {
      readonly kind: 'book'
      readonly unit: number
      readonly arrival: number
      readonly nights: number
      readonly status: BookingStatus
      readonly ref: string
    }
  | {
      readonly kind: 'book_group'
      readonly stays: readonly { unit: number; arrival: number; nights: number; ref: string }[]
      readonly status: BookingStatus
    }
  | { readonly kind: 'cancel'; readonly bookingId: string; readonly ref: string }
  | { readonly kind: 'cancel_group'; readonly groupId: string; readonly ref: string }
  | { readonly kind: 'move'; readonly bookingId: string; readonly unit: number }

/** Of a booking after a command. */
export interface SimAnswer {
  readonly id: string
  readonly unitId: string
  readonly version: number
  readonly status: BookingStatus
}

/** The nights of a unit. */
export interface SimCalendar {
  readonly seq: number
  /** When the answer was made, by the world's clock. */
  readonly madeAt: number
}

/** The header with which a client of this agency shows its key. */
export function authorizationOf({ id }: Agency): string {
  return `Bearer hr_live_${id.slice(-32).padStart(43, 'k')}`
}

const AGENCY_BY_KEY: ReadonlyMap<string, Agency> = new Map(AGENCIES.map((agency) => [authorizationOf(agency), agency]))

interface NodeAppOptions {
  /** Of the node. */
  readonly clock: Clock
  /** The world's monotonic clock. */
  readonly worldMs: () => number
  readonly commands: BookingCommands
  readonly idempotency: IdempotentWrites
  readonly feed: ChangeFeed
  /** A broken build: repeated answers do not wait for their line in the audit trail. */
  readonly repeatsUnrecorded?: boolean
  /** Whether the node has the agency. */
  has(agencyId: string): boolean
  onBug(error: unknown): void
}

export class NodeApp {
  readonly #options: NodeAppOptions

  constructor(options: NodeAppOptions) {
    this.#options = options
  }

  readonly answer = async (request: Request): Promise<Response> => {
    const agency = AGENCY_BY_KEY.get(request.headers.get('authorization') ?? '')
    // As a key that is not in memory.
    if (agency === undefined || !this.#options.has(agency.id)) return new Response(null, { status: 401 })
    try {
      if (request.method === 'POST') return await this.#write(agency, request)
      return await (request.url.includes('/changes') ? this.#changes(agency, request) : this.#read(agency, request))
    } catch (error) {
      const { problem, isBug } = failureOf(error, { isWrite: request.method === 'POST' })
      if (isBug) this.#options.onBug(error)
      const requestId = request.headers.get('x-request-id') ?? ''
      return problemAnswer(problem, requestId, plainHeaders(requestId))
    }
  }

  /** As src/api/partner/booking-writes.ts. */
  async #write(agency: Agency, request: Request): Promise<Response> {
    const text = new TextDecoder().decode(await request.arrayBuffer())
    const command = JSON.parse(text) as SimCommand
    const sent = idempotencyKeyOf(request.headers.get('idempotency-key'))
    if (sent.kind === 'malformed') throw new Error(`A client has sent a malformed key: ${sent.message}`)
    if (sent.kind === 'none') {
      const outcome = await this.#run(agency, command)
      return outcome.kind === 'done' ? Response.json(answerOf(bookingsOf(outcome))) : refused(outcome.kind)
    }
    const outcome = await this.#options.idempotency.run(
      {
        agencyId: agency.id,
        keyId: agency.slug,
        route: CALLER.route,
        idempotencyKey: sent.key,
        requestHash: requestHashOf(request.method, targetOf(request.url).path, text),
      },
      async (keep) => {
        const outcome = await this.#run(agency, command, (bookings) =>
          keep({ status: 200, body: JSON.stringify(answerOf(bookings)) }),
        )
        return outcome.kind === 'done' ? { kind: 'answered' } : { kind: 'refused', refusal: outcome.kind }
      },
    )
    switch (outcome.kind) {
      case 'answered':
        return new Response(outcome.answer?.body ?? null)
      case 'replayed':
        if (this.#options.repeatsUnrecorded !== true)
          await afterWrite(this.#options.commands.auditReplay(agency, CALLER, null))
        return new Response(outcome.answer.body, { headers: { 'Idempotency-Replayed': 'true' } })
      case 'refused':
        return refused(outcome.refusal)
      case 'reused':
        throw new Error('No two commands have the same key')
    }
  }

  #run(agency: Agency, command: SimCommand, keepAll?: KeepAll): Promise<FoundOutcome | GroupDone | GroupRefused> {
    const { commands } = this.#options
    const keep: KeepAnswer | undefined = keepAll && ((booking) => keepAll([booking]))
    const keepGroup: KeepGroup | undefined = keepAll && (({ bookings }) => keepAll(bookings))
    switch (command.kind) {
      case 'book':
        return commands.book(agency, requestOf(agency, command, command.status), CALLER, keep)
      case 'book_group': {
        const stays = command.stays.map((stay) => requestOf(agency, stay, command.status))
        return commands.groups.book(agency, { stays }, CALLER, keepGroup)
      }
      case 'cancel':
        return commands.cancel(agency, { bookingId: command.bookingId, reason: command.ref }, CALLER, keep)
      case 'cancel_group':
        return commands.groups.cancel(agency, { groupId: command.groupId, reason: command.ref }, CALLER, keepGroup)
      case 'move': {
        const { bookingId, unit } = command
        return commands.change(agency, { bookingId, change: { unitId: unitOf(agency, unit).id } }, CALLER, keep)
      }
    }
  }

  async #read(agency: Agency, request: Request): Promise<Response> {
    const unit = Number(targetOf(request.url).path.split('/').at(-1))
    const { seq } = await this.#options.commands.calendar(agency, unitOf(agency, unit))
    return Response.json({ seq, madeAt: this.#options.worldMs() } satisfies SimCalendar)
  }

  async #changes(agency: Agency, request: Request): Promise<Response> {
    const pending = new URL(request.url).searchParams
    const outcome = await answerChanges({
      feed: this.#options.feed,
      request,
      of: 'key',
      query: {
        after: pending.get('after') ?? 'start',
        limit: Number(pending.get('limit')),
        wait: Number(pending.get('wait')),
      },
      reader: { agencyId: agency.id, keyId: agency.slug, isServed: () => true },
      render: (changes) => changes,
      stream: { open: { waitedMs: 0 }, headers: () => plainHeaders(''), onFailure: () => {} },
    })
    if (typeof outcome === 'string') return new Response(outcome)
    if (outcome instanceof Response || !isProblem(outcome)) return outcome as Response
    return problemAnswer(outcome, '', plainHeaders(''))
  }
}

function unitOf({ id }: Agency, index: number) {
  const unit = unitsOf(id)[index]
  if (unit === undefined) throw new Error(`Agency ${id} has no unit ${index}`)
  return unit
}

type KeepAll = (bookings: readonly Booking[]) => IdempotencyDraft

function requestOf(
  agency: Agency,
  wanted: { unit: number; arrival: number; nights: number; ref: string },
  status: BookingStatus,
): BookingRequest {
  const arrival = addNights(FIRST, wanted.arrival)
  return {
    unit: unitOf(agency, wanted.unit),
    stay: { arrival, departure: addNights(arrival, wanted.nights) },
    type: 'guest',
    source: 'partner',
    sourceRef: wanted.ref,
    status,
    holdHours: null,
    notes: null,
    adults: 2,
    children: 0,
    extraBed: false,
    guest: null,
    enforcement: 'partner',
  }
}

function bookingsOf(done: Extract<FoundOutcome, { kind: 'done' }> | GroupDone): readonly Booking[] {
  return 'bookings' in done ? done.bookings : [done.booking]
}

function answerOf(bookings: readonly Booking[]): readonly SimAnswer[] {
  return bookings.map(({ id, unitId, version, status }) => ({ id, unitId, version, status }))
}

function refused(why: string): Response {
  return Response.json({ why }, { status: 409 })
}
