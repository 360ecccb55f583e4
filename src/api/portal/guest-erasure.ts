import { type Static, Type } from '@sinclair/typebox'
import type { Erasure } from '../../accounts/guest-erasures.ts'
import { timestampOrNull } from '../../http/json/booking-json.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice, nullable } from '../../http/text-schema.ts'
import { modeOf } from './booking-dry-run.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute, settled } from './portal-route.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const ErasureJson = Type.Object(
  {
    guestId: Type.String({ description: 'This id no longer refers to anyone.' }),
    erasedAt: nullable(Type.String({ format: 'date-time', description: 'Null with `dryRun=true`.' })),
    bookings: count('Bookings that lose their guest and their texts. Their figures stay.'),
    upcoming: count('Those of them that are still to begin, or in progress.'),
    withNotes: count('Those with notes.'),
    withReference: count('Those with a `sourceRef`.'),
    withReason: count('Those with a `cancelReason` that somebody wrote.'),
  },
  { $id: 'GuestErasure' },
)

const ERASE_GUEST = {
  id: 'eraseGuest',
  role: 'owner',
  method: 'POST',
  path: `${AGENCY_PATH}/guests/{guestId}/erase`,
  tag: 'Guests',
  summary: 'Erase a guest',
  description:
    'Erases name, e-mail, phone and nationality, and `notes`, `sourceRef` and `cancelReason` (except `hold_expired`) of all their bookings. ' +
    'The bookings stay as figures, without a guest, and the log says that a guest was erased, not who it was. This cannot be undone. ' +
    'Afterwards the guest is 404, and the same e-mail makes a new guest. Erasing again changes nothing. Partners keep what they received before.',
  takesDryRun: true,
  query: Type.Object({
    dryRun: Type.Optional(
      choice(['true', 'false'], {
        default: 'false',
        description: 'With `true`, the answer is what would be erased. Nothing is written or recorded.',
      }),
    ),
  }),
  answer: { status: 200, description: 'What was erased.', schema: Type.Object({ erasure: ErasureJson }) },
} as const satisfies PortalOperation

const shown = ({ erasedAt, ...erasure }: Erasure): { erasure: Static<typeof ErasureJson> } => ({
  erasure: { ...erasure, erasedAt: timestampOrNull(erasedAt) },
})

export const GUEST_ERASURE = [
  agencyRoute(
    ERASE_GUEST,
    async ({ ledger, agency, caller, keep, path: { guestId }, query, request }) => {
      if (!isIdShaped(guestId)) return notFound('guest')
      if (modeOf(query) === 'write') {
        // All kept answers of the agency are read.
        const erase = () => ledger.guestErasures.erase(agency, guestId, caller, keep.of(shown))
        return settled(await ledger.withoutIdleTimeout(request, erase), 'guest', shown)
      }
      const outcome = await ledger.guestErasures.preview(agency, guestId)
      if (outcome.kind !== 'done') return settled(outcome, 'guest', shown)
      return { kind: 'tried', answer: { status: 200, body: JSON.stringify(shown(outcome.value)) } }
    },
    {
      // The first request may have been interrupted.
      shown: async ({ ledger, agency, path: { guestId }, request }, kept) => {
        await ledger.withoutIdleTimeout(request, () => ledger.guestErasures.completeBegun(agency, guestId))
        return kept
      },
    },
  ),
]
