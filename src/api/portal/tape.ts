import { Type } from '@sinclair/typebox'
import type { Inventory } from '../../core/catalogue/agency.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import { formatNight, type Night } from '../../core/domain/night.ts'
import { isHeld, tagged } from '../../http/answer.ts'
import { nightOf } from '../../http/json/request-fields.ts'
import { invalidField } from '../../http/problems.ts'
import { dateText } from '../../http/text-schema.ts'
import { dayOf } from '../../lib/clock.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'
import { TapeJson, tapeText } from './tape-text.ts'

/** Three years. */
const TAPE_DAYS_MAX = 1_096
/** 500 units with a stay of four nights after the other, for two years; an answer of about 12 MB. */
const TAPE_STAYS_MAX = 100_000

const GET_TAPE = {
  id: 'getTape',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/tape`,
  tag: 'Calendars',
  summary: 'Get the units and stays of a window, for a tape chart',
  description:
    'Every unit, and every stay of `[from, to)` that is not cancelled, as lists of values. A stay is shown if its nights, the day of its departure, ' +
    'its cleaning nights or its expected extension touch the window. Ask again with `If-None-Match`: as long as nothing in the agency has ' +
    'changed, the answer is 304.',
  isConditional: true,
  query: Type.Object({
    from: dateText('First day.'),
    to: dateText(`The day after the last one; at most ${TAPE_DAYS_MAX} days after from.`),
  }),
  answer: { status: 200, description: 'The window.', schema: TapeJson },
} as const satisfies PortalOperation

export const TAPE = [
  agencyRoute(GET_TAPE, async ({ ledger, agency, request, query }) => {
    const [from, to] = [nightOf(query.from), nightOf(query.to)]
    if (to <= from) return invalidField('to', `must be after from (${query.from})`)
    if (to - from > TAPE_DAYS_MAX)
      return invalidField(
        'to',
        `must be at most ${TAPE_DAYS_MAX} days after from (${formatNight((from + TAPE_DAYS_MAX) as Night)})`,
      )
    const before = await ledger.catalogue.inventory(agency.id)
    const today = dayOf(timeOf(agency, ledger.clock), agency.timezone)
    // Tag and cursor are taken before anything is read: whatever changes meanwhile gives another tag to the next request, and comes
    // after the cursor.
    const versions = `${before.version} ${ledger.commands.changesOf(agency)} ${ledger.guests.changesOf(agency)}`
    const tag = ledger.tags.of(`tape ${versions} ${today} ${query.from} ${query.to}`)
    if (isHeld(request, tag)) return tagged(tag, null)
    const cursor = ledger.changes.endCursor(agency.id)
    const turnoverNightsMax = longestTurnover(before)
    return await ledger.renderings.run(agency.id, async () => {
      const params = { from, to, turnoverNightsMax, staysMax: TAPE_STAYS_MAX + 1 }
      const stays = await ledger.tapeStays.read(agency.id, params)
      if (stays.length > TAPE_STAYS_MAX)
        return invalidField('to', `must be closer to from: the window has more than ${TAPE_STAYS_MAX} stays`)
      // A unit may have been made since the inventory was read.
      const inventory = await ledger.catalogue.inventory(agency.id)
      return tagged(tag, await tapeText({ agency, inventory, ...query, today, cursor, stays }))
    })
  }),
]

function longestTurnover(inventory: Inventory): number {
  let longest = 0
  for (const { rules } of inventory.units) longest = Math.max(longest, rules.turnoverNights)
  return longest
}
