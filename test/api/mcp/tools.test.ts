import { describe, expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020'
import fc from 'fast-check'
import { availabilityText } from '../../../src/api/mcp/tools/calendar-tools.ts'
import { TOOLS, toolNamed, toolsFor } from '../../../src/api/mcp/tools/toolbox.ts'
import { SCOPES } from '../../../src/core/catalogue/agency.ts'
import { addNights, formatNight, NIGHT_MAX } from '../../../src/core/domain/night.ts'
import { NightBitmap } from '../../../src/core/domain/night-bitmap.ts'
import type { UnitState } from '../../../src/core/domain/unit-state.ts'
import { eventually } from '../../support/eventually.ts'
import { openMemoryMcp } from '../../support/memory-mcp.ts'
import { AGENCY, CALLER, night, requestFor, sampleRules, sampleUnit } from '../../support/samples.ts'

const NAMES = ['list_units', 'get_availability', 'quote_stay', 'list_bookings', 'get_calendar', 'search_stays']

// biome-ignore lint/suspicious/noExplicitAny: schemas are looked into
type Schema = any

describe('every tool', () => {
  test('is one of those of the contract and of the additions, in fixed order, with the scope that they say', () => {
    expect(TOOLS.map(({ name, scope }) => [name, scope])).toEqual([
      ['list_units', 'read:units'],
      ['get_availability', 'read:availability'],
      ['quote_stay', 'read:rates'],
      ['list_bookings', 'read:bookings'],
      ['get_calendar', 'read:availability'],
      ['search_stays', 'read:rates'],
    ])
  })

  test.each(NAMES)('%s says that it reads, changes nothing, may be repeated and knows no other world', (name) => {
    const { title, annotations } = toolNamed(name)?.definition ?? {}
    expect(title).toMatch(/^[A-Z]/)
    expect(annotations).toEqual({
      title: title as string,
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    })
  })

  test.each(NAMES)('%s takes flat arguments, each described, and no others', (name) => {
    const input: Schema = toolNamed(name)?.definition.inputSchema
    expect(input.additionalProperties).toBe(false)
    for (const property of Object.values<Schema>(input.properties)) {
      expect(['string', 'integer', 'boolean']).toContain(property.type)
      expect(property.description).toMatch(/\.$/)
    }
  })

  test.each(NAMES)('%s is described in three to seven short sentences, with what it does not do', (name) => {
    const { description = '' } = toolNamed(name)?.definition ?? {}
    const sentences = description.split(/(?<=\.) /)
    expect(sentences.length).toBeGreaterThanOrEqual(3)
    expect(sentences.length).toBeLessThanOrEqual(7)
    expect(sentences.at(-1)).toMatch(/\b(neither|no|nothing|not)\b/i)
    expect(description).toMatch(/half-open|per page/)
  })

  test('is published without ids of schemas, so that one validator takes in all of them', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    for (const { definition } of TOOLS) {
      expect(JSON.stringify(definition)).not.toContain('"$id"')
      ajv.compile(definition.inputSchema)
      ajv.compile((definition.outputSchema ?? {}) as Schema)
    }
  })

  test('is listed only to a key that may call it, whatever the order of its scopes', () => {
    const namesFor = (scopes: Parameters<typeof toolsFor>[0]) => toolsFor(scopes).map(({ name }) => name)
    expect(namesFor(SCOPES)).toEqual(NAMES)
    expect(namesFor(SCOPES.toReversed())).toEqual(NAMES)
    expect(namesFor(['read:bookings', 'read:units'])).toEqual(['list_units', 'list_bookings'])
    expect(namesFor(['read:guests', 'write:bookings'])).toEqual([])
  })

  test('offers what it applies: 25 elements a page, two adults, no children', () => {
    const defaultOf = (name: string, argument: string) => {
      const properties: Schema = toolNamed(name)?.definition.inputSchema.properties
      return properties[argument].default
    }
    expect(defaultOf('list_units', 'pageSize')).toBe(25)
    expect(defaultOf('list_bookings', 'pageSize')).toBe(25)
    expect(defaultOf('list_bookings', 'page')).toBe(1)
    expect(defaultOf('quote_stay', 'adults')).toBe(2)
    expect(defaultOf('quote_stay', 'children')).toBe(0)
    expect(defaultOf('quote_stay', 'extraBed')).toBe(false)
  })
})

describe('a mistake of the agent is answered with a sentence that says how to correct it', async () => {
  const unit = sampleUnit({ rules: sampleRules({ minStay: 5 }) })
  const { memory } = await openMemoryMcp({ units: [unit] })
  const { catalogue, commands } = memory
  const access = { takeParts: () => null }
  const clock = { now: () => 0 }
  const bookingList = { list: async () => ({ rows: [], total: 0 }), ofGuest: async () => [] }
  const call = (name: string, args: Record<string, unknown>) =>
    toolNamed(name)?.call({ access, clock, catalogue, commands, bookingList }, AGENCY, args)

  const stay = { unit: 'sea-view', arrival: '2027-03-07', departure: '2027-03-10' }
  const range = { unit: 'sea-view', from: '2027-03-01', to: '2027-03-15' }
  test.each<[string, string, Record<string, unknown>, string]>([
    [
      'below the minimum stay',
      'quote_stay',
      stay,
      'Minimum stay for this arrival: 5 nights; try departure 2027-03-12.',
    ],
    [
      'no departure at all',
      'quote_stay',
      { unit: 'sea-view', arrival: '2027-03-07' },
      'departure is required and must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31.',
    ],
    [
      'a date that does not exist',
      'quote_stay',
      { ...stay, arrival: '2027-02-30' },
      'arrival must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31.',
    ],
    [
      'departure on arrival',
      'quote_stay',
      { ...stay, departure: '2027-03-07' },
      'departure must be after arrival (2027-03-07).',
    ],
    [
      'a stay that is too long',
      'quote_stay',
      { ...stay, departure: '2028-03-08' },
      'departure must be at most 366 nights after arrival (2028-03-07).',
    ],
    ['an unknown slug', 'quote_stay', { ...stay, unit: 'sea' }, 'No such unit: "sea". Use a slug from list_units.'],
    ['too many children', 'quote_stay', { ...stay, children: 11 }, 'children must be an integer from 0 to 10.'],
    ['a number as text', 'quote_stay', { ...stay, adults: '2' }, 'adults must be an integer from 1 to 20.'],
    [
      'an argument that it does not have',
      'quote_stay',
      { ...stay, guests: 2 },
      'quote_stay has no argument "guests". Valid arguments: unit, arrival, departure, adults, children, extraBed.',
    ],
    ['an unknown slug', 'get_availability', { ...range, unit: 'x' }, 'No such unit: "x". Use a slug from list_units.'],
    [
      'an end before the begin',
      'get_availability',
      { ...range, to: '2027-02-28' },
      'to must not be before from (2027-03-01).',
    ],
    [
      'a range that is too long',
      'get_availability',
      { ...range, to: '2028-03-02' },
      'to must be at most 366 days after from (2028-03-01).',
    ],
    [
      'no date',
      'get_availability',
      { ...range, from: 'tomorrow' },
      'from must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31.',
    ],
    ['an unknown slug', 'list_bookings', { unit: 'x' }, 'No such unit: "x". Use a slug from list_units.'],
    [
      'an unknown status',
      'list_bookings',
      { status: 'paid' },
      'status must be one of draft, option, confirmed, checked_in, checked_out, cancelled.',
    ],
    ['a page that is too large', 'list_bookings', { pageSize: 201 }, 'pageSize must be an integer from 1 to 200.'],
    ['page zero', 'list_units', { page: 0 }, 'page must be an integer of at least 1.'],
    [
      'an unknown slug among others',
      'get_calendar',
      { from: '2027-03-01', to: '2027-03-15', units: 'sea-view,x' },
      'No such unit: "x". Use a slug from list_units.',
    ],
    [
      'no slug between two commas',
      'get_calendar',
      { from: '2027-03-01', to: '2027-03-15', units: 'sea-view,,x' },
      'units must be 1 to 200 slugs separated by commas.',
    ],
    [
      'a range that is too long',
      'get_calendar',
      { from: '2027-03-01', to: '2028-03-02' },
      'to must be at most 366 days after from (2028-03-01).',
    ],
    [
      'a list as JSON',
      'get_calendar',
      { from: '2027-03-01', to: '2027-03-15', units: ['sea-view'] },
      'units must be a non-empty string.',
    ],
    ['no dates', 'search_stays', { adults: 2 }, 'arrival is required, with departure, or else from, to and nights.'],
    [
      'both forms of dates',
      'search_stays',
      { arrival: '2027-03-01', departure: '2027-03-04', nights: 3 },
      'nights cannot be combined with arrival and departure: give these two, or from, to and nights.',
    ],
    [
      'a window that is too long',
      'search_stays',
      { from: '2027-03-01', to: '2027-06-02', nights: 3 },
      'to must be at most 92 days after from (2027-06-01).',
    ],
    [
      'a stay longer than the window',
      'search_stays',
      { from: '2027-03-01', to: '2027-03-08', nights: 8 },
      'nights must be at most 7, the days from 2027-03-01 to 2027-03-08.',
    ],
    [
      'an extra bed as text',
      'search_stays',
      { arrival: '2027-03-01', departure: '2027-03-04', extraBed: 'true' },
      'extraBed must be true or false.',
    ],
    [
      'everything at once',
      'get_availability',
      {},
      'unit is required and must be a non-empty string; from is required and must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31; to is required and must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31.',
    ],
  ])('%s: %s', async (_, name, args, sentence) => {
    expect(await call(name, args)).toEqual({ sentence })
  })

  test('no departure is offered beyond the last date there is', async () => {
    const last = { arrival: formatNight(addNights(NIGHT_MAX, -2)), departure: formatNight(NIGHT_MAX) }
    expect(await call('quote_stay', { ...stay, ...last })).toEqual({
      sentence: 'Minimum stay for this arrival: 5 nights.',
    })
  })

  test('of a departure that would be refused too, it says why, and what would be accepted', async () => {
    const sunday = { from: night('2027-03-07'), to: night('2027-03-08'), weekdays: null, value: true } as const
    const rows = [{ ...sunday, rule: 'closedToArrival' }] as const
    const rules = { ...unit.rules, restrictions: { rows, advanceNoticeHours: null, bookingWindowDays: null } }
    const restricted = await openMemoryMcp({ units: [{ ...unit, rules }] })
    const answer = await toolNamed('quote_stay')?.call(
      { ...restricted.memory, access, clock, bookingList },
      AGENCY,
      stay,
    )
    expect(answer).toEqual({
      sentence:
        'Minimum stay for this arrival: 5 nights. With departure 2027-03-12: This stay cannot be booked: no arrivals on 2027-03-07. ' +
        'For the same number of nights, try an arrival on 2027-03-06 or 2027-03-08.',
    })
  })

  test('a departure with which the nights are taken is not offered', async () => {
    const booked = await openMemoryMcp({ units: [unit] })
    const other = requestFor(unit, '2027-03-10', '2027-03-12', { enforcement: 'agency' })
    await booked.memory.commands.book(AGENCY, other, CALLER)
    const short = { ...stay, departure: '2027-03-08' }
    expect(
      await toolNamed('quote_stay')?.call({ ...booked.memory, access, clock, bookingList }, AGENCY, short),
    ).toEqual({
      sentence:
        'Minimum stay for this arrival: 5 nights. With departure 2027-03-12, it is not available: BOOKING_CONFLICT.',
    })
  })

  test('the departure that is offered is long enough for every night that it adds', async () => {
    const rows = [{ from: night('2027-03-11'), to: null, weekdays: null, rule: 'minStayThrough', value: 9 }] as const
    const rules = { ...unit.rules, restrictions: { rows, advanceNoticeHours: null, bookingWindowDays: null } }
    const restricted = await openMemoryMcp({ units: [{ ...unit, rules }] })
    const quote = (departure: string) =>
      toolNamed('quote_stay')?.call({ ...restricted.memory, access, clock, bookingList }, AGENCY, {
        ...stay,
        departure,
      })
    expect(await quote('2027-03-10')).toEqual({
      sentence: 'Minimum stay for this arrival: 9 nights; try departure 2027-03-16.',
    })
    expect(JSON.parse((await quote('2027-03-16')) as string).quote.nights).toBe(9)
  })

  test('the departure that is offered is accepted', async () => {
    const answer = await call('quote_stay', { ...stay, departure: '2027-03-12' })
    expect(JSON.parse(answer as string).quote.nights).toBe(5)
  })
})

test.each<[string, Record<string, unknown>]>([
  ['list_units', {}],
  ['get_availability', { unit: 'sea-view', from: '2027-03-01', to: '2027-03-15' }],
  ['quote_stay', { unit: 'sea-view', arrival: '2027-03-07', departure: '2027-03-10' }],
  ['get_calendar', { from: '2027-03-01', to: '2027-03-15' }],
  ['search_stays', { arrival: '2027-03-07', departure: '2027-03-10' }],
])("%s answers the same when the agency's units are not in memory yet", async (name, args) => {
  const { memory } = await openMemoryMcp()
  const { catalogue, commands } = memory
  const access = { takeParts: () => null }
  const clock = { now: () => 0 }
  const bookingList = { list: async () => ({ rows: [], total: 0 }), ofGuest: async () => [] }
  const notLoaded = {
    peekInventory: () => null,
    inventory: (agencyId: string) => catalogue.inventory(agencyId),
  } as unknown as typeof catalogue
  const [known, loaded] = [catalogue, notLoaded].map((each) =>
    toolNamed(name)?.call({ access, clock, catalogue: each, commands, bookingList }, AGENCY, args),
  )
  expect(await known).toBeString()
  expect(await loaded).toBe((await known) as string)
})

test('search_stays is answered when the large answers of its agency before it have had their time, as on REST', async () => {
  const { memory } = await openMemoryMcp()
  const { catalogue, commands } = memory
  const clock = { now: () => 0 }
  const turn = Promise.withResolvers<void>()
  const bookingList = { list: async () => ({ rows: [], total: 0 }), ofGuest: async () => [] }
  let isWaiting = false
  const takeParts = () => {
    isWaiting = true
    return turn.promise
  }
  let isAnswered = false
  const args = { arrival: '2027-03-07', departure: '2027-03-10' }
  const answer = Promise.resolve(
    toolNamed('search_stays')?.call({ access: { takeParts }, clock, catalogue, commands, bookingList }, AGENCY, args),
  ).finally(() => {
    isAnswered = true
  })
  await eventually('it waits', () => isWaiting)
  await Bun.sleep(0)
  expect(isAnswered).toBe(false)
  turn.resolve()
  expect(await answer).toBeString()
})

describe('open ranges', () => {
  const FROM = night('2027-03-01')

  test('and blocked nights together are the range, whatever is occupied or cleaned', () => {
    const ranges = fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 8 })), { maxLength: 12 })
    fc.assert(
      fc.property(ranges, ranges, fc.nat(50), (occupied, cleaning, length) => {
        const state = { occupied: bitmapOf(occupied), closed: bitmapOf(cleaning) } as UnitState
        const from = addNights(FROM, 5)
        const to = addNights(from, length)
        const answer = JSON.parse(availabilityText(state, 'a"b', { from, to }))

        const open = answer.openRanges.flatMap((range: { from: string; to: string; nights: number }) => {
          expect(range.nights).toBe(night(range.to) - night(range.from))
          expect(range.nights).toBeGreaterThan(0)
          return Array.from({ length: range.nights }, (_, i) => formatNight(addNights(night(range.from), i)))
        })
        const all = Array.from({ length }, (_, i) => formatNight(addNights(from, i)))
        expect([...open, ...answer.blockedNights].sort()).toEqual(all)
        expect(open).toEqual([...open].sort())
        // Neighbours would be one range.
        for (let i = 1; i < answer.openRanges.length; i++)
          expect(answer.openRanges[i].from > answer.openRanges[i - 1].to).toBe(true)
        expect(answer).toMatchObject({ unit: 'a"b', from: formatNight(from), to: formatNight(to) })
      }),
    )
  })

  function bitmapOf(ranges: readonly (readonly [number, number])[]): NightBitmap {
    const bitmap = new NightBitmap()
    for (const [at, nights] of ranges) bitmap.setRange(addNights(FROM, at), addNights(FROM, at + nights))
    return bitmap
  }
})
