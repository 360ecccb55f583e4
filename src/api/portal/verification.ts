import { Type } from '@sinclair/typebox'
import { choice, nullable } from '../../http/text-schema.ts'
import { DIFFERENCE_KINDS } from '../../verify/findings.ts'
import type { PortalOperation } from './portal-operation.ts'
import { portalRoute } from './portal-route.ts'

const VerificationJson = Type.Object(
  {
    units: Type.Integer(),
    entries: Type.Integer(),
    bookings: Type.Integer(),
    snapshots: Type.Integer(),
    events: Type.Integer({ description: 'Journal entries that fire a webhook event.' }),
    differences: Type.Array(
      Type.Object({
        what: choice(DIFFERENCE_KINDS),
        unitId: nullable(Type.String()),
        at: Type.String({ description: 'The affected id, or the journal entry as `shard/number`.' }),
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
  role: 'operator',
  method: 'GET',
  path: '/portal/v1/verification',
  tag: 'Audit and usage',
  summary: 'Verify all derived data against the journal',
  description:
    'Checks the journal for gaps and for entries that were changed after they were written (`chain`), then replays that of every ' +
    'unit and compares it with snapshots, bookings, guests, deliveries and the in-memory state of the running units. ' +
    'Runs in a separate, read-only process; the service keeps taking bookings. ' +
    'A verification that takes longer than ten minutes is stopped and answered with 500. A request sent while another ' +
    'is running gets the same result. An empty `differences` means that everything agrees.',
  answer: {
    status: 200,
    description: 'What was checked, and the differences found.',
    schema: Type.Object({ verification: VerificationJson }),
  },
} as const satisfies PortalOperation

export const VERIFICATION = [
  portalRoute(VERIFY, async ({ ledger, request }) => {
    const verification = await ledger.withoutIdleTimeout(request, () => ledger.verify(request.signal))
    return JSON.stringify({ verification })
  }),
]
