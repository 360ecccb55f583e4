/** Webhooks on demand (docs/partner-additions.md#12-sandbox). */
import { expect, test } from 'bun:test'
import type { StoredEndpoint } from '../../../src/events/webhooks/endpoint-rows.ts'
import type { PostResult } from '../../../src/events/webhooks/guarded-post.ts'
import { SandboxEvents } from '../../../src/events/webhooks/sandbox-events.ts'
import { newSecret, SecretBox } from '../../../src/events/webhooks/secret-box.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

const [AGENCY, BOOKING] = ['agc_a', 'bkg_a']
const OK: PostResult = { outcome: { kind: 'answered', httpStatus: 204 }, durationMs: 1 }

/** A sandbox with one endpoint, whose booking has fired two events. */
function sandbox({ events: chosen = ['booking.created', 'booking.updated'] } = {}) {
  const clock = new FakeClock()
  const box = new SecretBox(new Uint8Array(32))
  const secretSealed = box.seal(newSecret(), { agencyId: AGENCY, endpointId: 'whe_a' })
  const endpoint = {
    agencyId: AGENCY,
    id: 'whe_a',
    url: 'https://a.example/',
    status: 'active',
    secretSealed,
    events: chosen,
  }
  const fired = [
    { id: 'evt_2', event: 'booking.updated', body: '{"id":"evt_2"}' },
    { id: 'evt_1', event: 'booking.created', body: '{"id":"evt_1"}' },
  ] as const
  const sent: { id: string | undefined; at: number; signedAt: number }[] = []
  /** Answers for the receiver. */
  const answers: (() => void)[] = []
  const events = new SandboxEvents({
    rows: {
      list: async () => [
        { ...endpoint, previousSecretSealed: null, previousSecretUntil: null } as unknown as StoredEndpoint,
      ],
      eventsOf: async (_, bookingId, max) => (bookingId === BOOKING ? fired.slice(0, max) : []),
    },
    post: (_, { headers }) => {
      const signedAt = Number(headers['webhook-timestamp']) * 1_000
      sent.push({ id: headers['webhook-id'], at: clock.now(), signedAt })
      return new Promise((resolve) => answers.push(() => resolve(OK)))
    },
    box,
    clock,
  })
  return { clock, events, sent, answers }
}

test('a late event comes after ten seconds, signed with the time at which it is sent', async () => {
  const { clock, events, sent } = sandbox()
  const at = clock.now() + 10_000
  expect(await events.send(AGENCY, BOOKING, 'late')).toEqual({ kind: 'sent', eventIds: ['evt_2'], endpoints: 1 })
  await clock.advance(9_999)
  expect(sent).toEqual([])
  await clock.advance(1)
  expect(sent).toEqual([{ id: 'evt_2', at, signedAt: at }])
})

test.each([
  [['booking.created', 'unit.updated'], ['evt_1'], 1],
  [['booking.updated'], ['evt_2'], 1],
  [['rates.updated', 'unit.updated'], [], 0],
])('an endpoint for %p gets none of the other events', async (chosen, ids, endpoints) => {
  const { events, sent, answers } = sandbox({ events: chosen })
  const both = { kind: 'sent', eventIds: ['evt_2', 'evt_1'], endpoints } as const
  expect(await events.send(AGENCY, BOOKING, 'reorder')).toEqual(both)
  answers[0]?.()
  await settle()
  expect(sent.map(({ id }) => id)).toEqual(ids)
})

test('no more than four of a sandbox are sent at once, however many are asked for at the same time', async () => {
  const { events, sent, answers } = sandbox()
  const kindsOf = async (count: number, bookingId = BOOKING) =>
    (await Promise.all(Array.from({ length: count }, () => events.send(AGENCY, bookingId, 'duplicate')))).map(
      ({ kind }) => kind,
    )
  expect(await kindsOf(6)).toEqual([...Array(4).fill('sent'), 'busy', 'busy'])
  expect(sent).toHaveLength(4)
  answers[0]?.()
  await settle()
  // What sends nothing takes no place.
  expect([await kindsOf(1, 'bkg_b'), await kindsOf(2)]).toEqual([['not_found'], ['sent', 'busy']])
})
