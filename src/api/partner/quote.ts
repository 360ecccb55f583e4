import { Type } from '@sinclair/typebox'
import type { QuoteAnswer } from '../../core/domain/decide.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { type Outcome, tagged } from '../../http/answer.ts'
import { QuoteAnswerJson, taggedQuoteAnswer } from '../../http/json/quote-json.ts'
import { PARTY_FIELDS, STAY_FIELDS, stayOf } from '../../http/json/request-fields.ts'
import type { Operation } from '../../http/operation.ts'
import { problemOfRejection } from '../../http/problem-of.ts'
import { notFound } from '../../http/problems.ts'
import { partnerRoute, withInventory } from './partner-route.ts'

const QUOTE_STAY = {
  id: 'quoteStay',
  method: 'POST',
  path: '/partner/v1/quote',
  tag: 'Availability and prices',
  summary: 'Price a stay',
  description:
    'Uses the same pricing engine as bookings, and says whether the stay can be booked now. ' +
    'Send the same `children` and `extraBed` as for the booking to get its exact total, and its `ETag` as `If-Match` with the ' +
    'booking to pay this price or none.',
  scope: 'read:rates',
  isWrite: false,
  isTagged: true,
  body: Type.Object({ ...STAY_FIELDS, ...PARTY_FIELDS }),
  bodyExample: { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-05' },
  answer: { status: 200, description: 'The price, whether or not the stay is available.', schema: QuoteAnswerJson },
  problems: ['VALIDATION', 'NOT_FOUND', 'MIN_STAY', 'RESTRICTED'],
} as const satisfies Operation

export const QUOTE = [
  partnerRoute(QUOTE_STAY, ({ ledger, agency, open, body }) => {
    const stay = stayOf(body)
    if ('code' in stay) return stay
    return withInventory<Outcome>(ledger.catalogue, open.admission.holder, (inventory) => {
      const unit = inventory.sellableUnit(body.unit)
      if (unit === null) return notFound('unit')
      const { children = 0, extraBed = false } = body
      const quoted = ledger.commands.quote(agency, { unit, stay, children, extraBed })
      return quoted instanceof Promise ? quoted.then((each) => answerOf(unit, each)) : answerOf(unit, quoted)
    })
  }),
]

function answerOf(unit: Unit, quoted: QuoteAnswer): Outcome {
  if (quoted.kind === 'rejected') return problemOfRejection(quoted.rejection)
  const { tag, body } = taggedQuoteAnswer(unit, quoted.quote, quoted.reasons)
  return tagged(tag, body)
}
