import { Type } from '@sinclair/typebox'
import type { Operation } from '../operation.ts'
import { choice, nullable } from '../schema/text-schema.ts'
import { portalRoute } from './portal-route.ts'

const KINDS = ['journal', 'snapshot', 'booking', 'guest', 'event', 'audit', 'delivery', 'memory'] as const

const VerificationJson = Type.Object(
  {
    lastSeq: Type.Integer({ description: 'The journal was checked up to this entry.' }),
    units: Type.Integer(),
    entries: Type.Integer(),
    bookings: Type.Integer(),
    snapshots: Type.Integer(),
    events: Type.Integer(),
    differences: Type.Array(
      Type.Object({
        what: choice(KINDS),
        unitId: nullable(Type.String()),
        at: Type.String({ description: 'Where to look: an id or a sequence number.' }),
        message: Type.String(),
      }),
      { description: 'The first 1,000 differences.' },
    ),
    differenceCount: Type.Integer({
      description: 'The total number of differences, including those beyond the first 1,000.',
    }),
  },
  { $id: 'Verification' },
)

const VERIFY = {
  id: 'verify',
  method: 'GET',
  path: '/portal/v1/verification',
  tag: 'Audit and usage',
  summary: 'Hold everything derived against the journal',
  description:
    'Replays the journal of every unit and compares snapshots, bookings, guests, events, audit lines, deliveries and the ' +
    'memory of the running actors with it. Runs in a separate process that only reads; the service keeps taking bookings. ' +
    'A verification that has not finished after ten minutes is stopped, and answered with 500. A request sent while one ' +
    'is running gets its result. An empty `differences` means that everything agrees.',
  answer: {
    status: 200,
    description: 'What was checked, and every difference.',
    schema: Type.Object({ verification: VerificationJson }),
  },
} as const satisfies Operation

export const VERIFICATION = [
  portalRoute(VERIFY, async ({ ledger, request }) => {
    const verification = await ledger.withoutIdleTimeout(request, () => ledger.verify(request.signal))
    return JSON.stringify({ verification })
  }),
]
