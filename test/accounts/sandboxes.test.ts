import { beforeEach, describe, expect, test } from 'bun:test'
import { Sandboxes } from '../../src/accounts/sandboxes.ts'
import { RETRY_EVERY_MS } from '../../src/accounts/store-retries.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const CALLER: Caller = { actor: { kind: 'portal', id: null }, route: 'x', requestId: null }
const SANDBOX: Agency = {
  ...AGENCY,
  id: sampleId('agc', 'sandbox'),
  slug: 'harbour-sandbox',
  sandboxOf: AGENCY.id,
  clock: { now: 0, target: 0 },
}

let clock: FakeClock
let catalogue: Catalogue
/** Sandboxes as they are stored. */
let stored: Agency[]
let isAway: boolean
let ended: string[]
let endpointsMovedTo: string[]
let sandboxes: Sandboxes

beforeEach(() => {
  clock = new FakeClock()
  catalogue = new Catalogue({} as never)
  catalogue.putPart({ agencies: [AGENCY, SANDBOX], keys: [], accessTokens: [], people: [] })
  stored = [SANDBOX]
  isAway = false
  ended = []
  endpointsMovedTo = []
  sandboxes = new Sandboxes({
    catalogue,
    rows: {
      nextMoment: async () => null,
      end: async (sandbox, successor) => {
        stored = successor === null ? [] : [{ ...sandbox, id: successor.id }]
        isAway = true
        throw new WriteError('unknown', 'x')
      },
    },
    store: {
      settle: async () => {
        if (isAway) throw new WriteError('not_written', 'x')
      },
      loadAgencies: async () => [AGENCY, ...stored],
      loadKeys: async () => [],
    },
    clock,
    newId: systemIds,
    onEnded: (agencyId) => ended.push(agencyId),
    onEndpointsMoved: (agencyId) => endpointsMovedTo.push(agencyId),
    agencies: {} as never,
    fees: {} as never,
    commands: {} as never,
  })
})

describe('if the answer to a write is lost and the database is away after it, memory shows what is stored once that can be read', () => {
  test('of a reset', async () => {
    await expect(sandboxes.reset(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
    await clock.advance(3 * RETRY_EVERY_MS)
    expect(sandboxes.of(AGENCY)?.id).toBe(SANDBOX.id)
    isAway = false
    await clock.advance(RETRY_EVERY_MS)
    expect(sandboxes.of(AGENCY)?.id).toBe(stored[0]?.id as string)
    expect([ended, endpointsMovedTo]).toEqual([[SANDBOX.id], [stored[0]?.id as string]])
  })

  test('of a removal', async () => {
    await expect(sandboxes.remove(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
    await clock.advance(3 * RETRY_EVERY_MS)
    expect(sandboxes.of(AGENCY)?.id).toBe(SANDBOX.id)
    isAway = false
    await clock.advance(RETRY_EVERY_MS)
    expect(sandboxes.of(AGENCY)).toBeNull()
    expect([ended, endpointsMovedTo]).toEqual([[SANDBOX.id], []])
  })
})
