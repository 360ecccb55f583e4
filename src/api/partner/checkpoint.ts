import { Type } from '@sinclair/typebox'
import { PROVED_ENTRIES_MAX } from '../../events/checkpoints/checkpoints.ts'
import type { Hash } from '../../events/checkpoints/merkle-tree.ts'
import { plainHeaders } from '../../http/answer.ts'
import type { Operation } from '../../http/operation.ts'
import { invalidField, notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { countedRoute, type Route } from '../../http/route.ts'
import { type PartnerDependencies, partnerRoute } from './partner-route.ts'

const CHECKPOINT_KEY_PATH = '/.well-known/nightledger-checkpoint-key'
const TEXT = 'text/plain'
const NOTE = {
  description:
    'A signed note (C2SP `tlog-checkpoint`): the origin, the number of entries, the root of the Merkle tree (RFC 6962) over them in base64, ' +
    'an empty line, and the signature.',
} as const
const HASH = Type.String({ format: 'byte', description: 'A SHA-256 hash, base64.' })

const GET_CHECKPOINT = {
  id: 'getCheckpoint',
  method: 'GET',
  path: '/partner/v1/checkpoint',
  tag: 'History',
  summary: "Get a signed checkpoint of the agency's history",
  description:
    'Keep it. A later checkpoint with the same origin must be consistent with it, which `GET /partner/v1/checkpoint/proof` proves; otherwise ' +
    'the history was rewritten. It covers a change within a minute. After a restore from a backup the origin is another one, and cursors of ' +
    '`GET /partner/v1/changes` are refused with 410. The public keys of the signature, also former ones, are at ' +
    `\`${CHECKPOINT_KEY_PATH}\`.`,
  scope: null,
  answer: { status: 200, description: 'The newest checkpoint.', mediaType: TEXT, schema: Type.String(NOTE) },
} as const satisfies Operation

const size = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

const GET_PROOF = {
  id: 'getCheckpointProof',
  method: 'GET',
  path: '/partner/v1/checkpoint/proof',
  tag: 'History',
  summary: 'Prove that one checkpoint continues another',
  description: 'A consistency proof (RFC 6962, section 2.1.2). It is empty if `from` is 0 or equals `to`.',
  scope: null,
  query: Type.Object({
    from: size('The size of the earlier checkpoint.'),
    to: size('The size of the later checkpoint; at most that of the newest one.'),
  }),
  answer: {
    status: 200,
    description: 'The proof.',
    schema: Type.Object({ from: Type.Integer(), to: Type.Integer(), hashes: Type.Array(HASH) }),
  },
  problems: ['VALIDATION'],
} as const satisfies Operation

const GET_BOOKING_PROOF = {
  id: 'getBookingProof',
  method: 'GET',
  path: '/partner/v1/bookings/{id}/proof',
  isLarge: true,
  tag: 'History',
  summary: "Prove that a booking's entries are part of the history",
  description:
    'An inclusion proof (RFC 6962, section 2.1.1) for each journal entry of the booking. Entries of the last minute may not be covered by the ' +
    'checkpoint yet, and archived entries are no longer shown: both are left out. Entries contain no personal data or free text.',
  scope: 'read:bookings',
  pathParameters: { id: { description: 'Id of the booking.', example: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  answer: {
    status: 200,
    description: 'The newest checkpoint, and the entries with their proofs.',
    schema: Type.Object({
      checkpoint: Type.String(NOTE),
      entries: Type.Array(
        Type.Object({
          index: Type.Integer({ description: 'Of the entry in the tree, from 0.' }),
          entry: Type.String({
            format: 'byte',
            description:
              'The bytes of the entry, base64: a JSON array. Its leaf is SHA-256 of a zero byte and these bytes.',
          }),
          hashes: Type.Array(HASH, { description: 'From the leaf to the root.' }),
        }),
        { maxItems: PROVED_ENTRIES_MAX, description: `Oldest first; of more, the newest ${PROVED_ENTRIES_MAX}.` },
      ),
    }),
  },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

export const CHECKPOINT = [
  partnerRoute(GET_CHECKPOINT, async ({ ledger, agency, stream }) => {
    const note = await ledger.checkpoints.latest(agency.id)
    const headers = stream().headers()
    headers.set('Content-Type', `${TEXT}; charset=utf-8`)
    return new Response(note, { headers })
  }),
  partnerRoute(GET_PROOF, async ({ ledger, agency, query: { from, to } }) => {
    if (from > to) return invalidField('from', `must be at most to, ${to}`)
    const proof = await ledger.checkpoints.consistency(agency.id, { from, to })
    if (proof.kind === 'beyond')
      return invalidField('to', `must be at most ${proof.size}, the size of the newest checkpoint`)
    return JSON.stringify({ from, to, hashes: proof.hashes.map(base64) })
  }),
  partnerRoute(GET_BOOKING_PROOF, async ({ ledger, agency, path: { id } }) => {
    const row = isIdShaped(id) ? await ledger.bookingRows.find(agency.id, id) : null
    if (row === null) return notFound('booking')
    const { checkpoint, entries } = await ledger.checkpoints.ofBooking(agency.id, id)
    const proved = entries.map(({ index, entry, hashes }) => ({
      index,
      entry: Buffer.from(entry).toString('base64'),
      hashes: hashes.map(base64),
    }))
    return JSON.stringify({ checkpoint, entries: proved })
  }),
]

function base64(hash: Hash): string {
  return Buffer.from(hash).toString('base64')
}

/** The public keys of checkpoints, a line for each, the current one first: readable without a key, and not part of the API's document. */
export const CHECKPOINT_KEY: Route<PartnerDependencies> = {
  operation: { method: 'GET', path: CHECKPOINT_KEY_PATH },
  serve: ({ ledger: { checkpoints, newId }, requestStats }) =>
    countedRoute(
      { requestStats, newId },
      { surface: 'partner', method: 'GET', path: CHECKPOINT_KEY_PATH },
      (_, requestId) => {
        const headers = plainHeaders(requestId)
        headers.set('Content-Type', `${TEXT}; charset=utf-8`)
        headers.set('Cache-Control', 'public, max-age=300')
        return new Response(checkpoints.keys.map((vkey) => `${vkey}\n`).join(''), { headers })
      },
    ),
}
