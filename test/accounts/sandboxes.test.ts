import { beforeEach, describe, expect, test } from 'bun:test'
import type { NewAgency } from '../../src/accounts/agency-commands.ts'
import { Sandboxes, type SandboxRows } from '../../src/accounts/sandboxes.ts'
import { done, NOT_FOUND, RETRY_EVERY_MS, refused } from '../../src/accounts/store-retries.ts'
import { SandboxWrites } from '../../src/core/bookings/sandbox-writes.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import { type Agency, type ApiKey, Inventory } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import { formatNight } from '../../src/core/domain/night.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId, sampleKey, sampleUnit } from '../support/samples.ts'

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
let storedKeys: () => ApiKey[]
let isAway: boolean
let term: number
let endsAs: SandboxRows['end']
let whileReading: () => void
/** Whether the database can be read after a write whose answer is lost. */
let isReachable: boolean
let ended: string[]
let endpointsMovedTo: string[]
let options: ConstructorParameters<typeof Sandboxes>[0]
let sandboxes: Sandboxes

beforeEach(() => {
  clock = new FakeClock()
  term = 1
  whileReading = () => {}
  endsAs = async (sandbox, successor) => {
    stored = successor === null ? [] : [{ ...sandbox, id: successor.id }]
    isAway = !isReachable
    throw new WriteError('unknown', 'x')
  }
  catalogue = new Catalogue({} as never, { served: { termOf: () => term, refusal: () => new Error('elsewhere') } })
  catalogue.putPart({ agencies: [AGENCY, SANDBOX], keys: [], accessTokens: [], people: [] })
  stored = [SANDBOX]
  storedKeys = () => []
  isAway = false
  isReachable = false
  ended = []
  endpointsMovedTo = []
  options = {
    catalogue,
    rows: {
      nextMoment: async () => null,
      end: (...args) => endsAs(...args),
      keepAnswer: async () => {},
    },
    store: {
      settle: async () => {
        // A statement takes longer than everything that is ready to run.
        if (isReachable) await new Promise((resolve) => setImmediate(resolve))
        if (isAway) throw new WriteError('not_written', 'x')
      },
      loadAgencies: async () => {
        whileReading()
        return [AGENCY, ...stored]
      },
      loadKeys: async () => storedKeys(),
    },
    clock,
    newId: systemIds,
    onEnded: (agencyId) => ended.push(agencyId),
    onReplaced: (_, agencyId) => endpointsMovedTo.push(agencyId),
    agencies: {} as never,
    fees: {} as never,
    commands: { sandboxWrites: new SandboxWrites({ catalogue, clock }) } as never,
  }
  sandboxes = new Sandboxes(options)
})

test('if the answer to a reset is lost but the database can be read, memory shows what is stored before the caller hears of it', async () => {
  isReachable = true
  await expect(sandboxes.reset(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
  expect(sandboxes.of(AGENCY)?.id).toBe(stored[0]?.id as string)
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

test('invented stays begin a week from today and later, each three days after the one before', async () => {
  const units = ['a', 'b', 'c', 'd'].map((slug) => sampleUnit({ id: sampleId('unt', slug), slug, name: slug }))
  catalogue = new Catalogue({ loadInventory: async () => new Inventory(units, []) } as never)
  catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [] })
  const arrivals: string[] = []
  const made = new Sandboxes({
    ...options,
    catalogue,
    agencies: { create: async (draft) => done({ ...SANDBOX, ...draft }), change: async () => NOT_FOUND },
    commands: {
      ...options.commands,
      setUnit: async () => null as never,
      book: async (_, { stay }) => arrivals.push(formatNight(stay.arrival)) as never,
    },
  })
  await made.make(AGENCY, CALLER)
  expect(arrivals).toEqual(['2027-01-08', '2027-01-11', '2027-01-14', '2027-01-17'])
})

test('a key whose revocation is not stored yet stays revoked in the sandbox that has it after a reset whose answer is lost', async () => {
  isReachable = true
  const { key } = sampleKey({ agencyId: SANDBOX.id })
  catalogue.putKey({ ...key, revokedAt: 1 })
  storedKeys = () => [{ ...key, agencyId: stored[0]?.id as string }]
  await expect(sandboxes.reset(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
  expect(catalogue.keys.holderByHash(key.secretSha256)).toMatchObject({
    agency: { id: stored[0]?.id },
    key: { revokedAt: 1 },
  })
})

test('a sandbox whose suspension is not stored yet stays suspended after a reset whose answer is lost', async () => {
  isReachable = true
  endsAs = async (sandbox, successor) => {
    stored = [{ ...sandbox, id: successor?.id as string, status: 'active' }]
    throw new WriteError('unknown', 'x')
  }
  catalogue.putAgency({ ...SANDBOX, status: 'suspended' })
  await expect(sandboxes.reset(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
  expect(sandboxes.of(AGENCY)).toMatchObject({ id: stored[0]?.id as string, status: 'suspended' })
})

describe('a sandbox whose making had an unknown outcome', () => {
  const keep = ({ id }: Agency) => ({ agencyId: AGENCY.id, body: id }) as never
  let kept: unknown[]
  let made: Sandboxes

  beforeEach(async () => {
    kept = []
    const served = { termOf: () => term, refusal: () => new Error('elsewhere') }
    catalogue = new Catalogue({ loadInventory: async () => new Inventory([], []) } as never, { served })
    catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [] })
    made = new Sandboxes({
      ...options,
      catalogue,
      rows: {
        ...options.rows,
        end: async () => true,
        keepAnswer: async (liveId, { body }) => void kept.push([liveId, body]),
      },
      agencies: {
        create: async (draft, _, keepNow) => {
          if (keepNow !== undefined) kept.push(keepNow)
          catalogue.putAgency({ ...SANDBOX, ...draft })
          throw new WriteError('unknown', 'x')
        },
        change: async () => NOT_FOUND,
      },
      commands: { sandboxWrites: new SandboxWrites({ catalogue, clock }) } as never,
    })
    await expect(made.make(AGENCY, CALLER, keep, 'first')).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('is completed by the repetition, which keeps its answer; the next request is refused', async () => {
    expect(kept).toEqual([])
    expect(await made.make(AGENCY, CALLER, keep, 'first')).toMatchObject({ kind: 'done' })
    expect(kept).toEqual([[AGENCY.id, catalogue.sandboxOf(AGENCY.id)?.id]])
    expect(await made.make(AGENCY, CALLER, keep, 'first')).toMatchObject({ kind: 'refused' })
  })

  test.each(['second', null])('is left as it is by the request %p: people may work in it by now', async (request) => {
    const before = catalogue.sandboxOf(AGENCY.id)?.id as string
    expect(await made.make(AGENCY, CALLER, keep, request)).toMatchObject({ refusal: { code: 'SANDBOX_EXISTS' } })
    expect(catalogue.sandboxOf(AGENCY.id)?.id).toBe(before)
    expect(await made.make(AGENCY, CALLER, keep, 'first')).toMatchObject({ kind: 'done' })
  })

  test('is left as it is when another process had the agency meanwhile, and may have completed it', async () => {
    term += 1
    expect(await made.make(AGENCY, CALLER, keep, 'first')).toMatchObject({ kind: 'refused' })
  })
})

test('a sandbox is made beside agencies of other processes, whose slugs only the database knows', async () => {
  catalogue = new Catalogue({ loadInventory: async () => new Inventory([], []) } as never)
  catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [] })
  const elsewhere = [SANDBOX.slug, `${SANDBOX.slug}-2`]
  const create = async (draft: NewAgency) =>
    elsewhere.includes(draft.slug) ? refused({ code: 'SLUG_TAKEN', slug: draft.slug }) : done({ ...SANDBOX, ...draft })
  const made = new Sandboxes({ ...options, catalogue, agencies: { create, change: async () => NOT_FOUND } })
  expect(await made.make(AGENCY, CALLER)).toMatchObject({ kind: 'done', value: { slug: `${SANDBOX.slug}-3` } })
})

test('a sandbox is not made under another slug by a process that has lost the agency meanwhile', async () => {
  catalogue.forget(SANDBOX.id)
  const slugs: string[] = []
  const create = async ({ slug }: NewAgency) => {
    slugs.push(slug)
    term += 1
    return slugs.length > 1 ? done({ ...SANDBOX, slug }) : refused({ code: 'SLUG_TAKEN', slug })
  }
  const made = new Sandboxes({ ...options, agencies: { create, change: async () => NOT_FOUND } })
  await expect(made.make(AGENCY, CALLER)).rejects.toMatchObject({ kind: 'not_owner' })
  expect(slugs).toEqual([SANDBOX.slug])
})

describe('a sandbox that is found only when another one is created, because the database was away after its making', () => {
  let made: Sandboxes

  beforeEach(async () => {
    catalogue = new Catalogue({ loadInventory: async () => new Inventory([], []) } as never)
    catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [] })
    let attempts = 0
    const create = async () => {
      if (attempts++ === 0) throw new WriteError('unknown', 'x')
      catalogue.putAgency(SANDBOX)
      return refused({ code: 'SLUG_TAKEN', slug: SANDBOX.slug })
    }
    const change = async (agencyId: string) => done(catalogue.agencyById(agencyId) as Agency)
    const rows = { ...options.rows, end: async () => true }
    made = new Sandboxes({ ...options, catalogue, rows, agencies: { create, change } })
    await expect(made.make(AGENCY, CALLER, undefined, 'first')).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('is completed by the repetition', async () => {
    expect(await made.make(AGENCY, CALLER, undefined, 'first')).toMatchObject({ kind: 'done' })
    expect(made.of(AGENCY)?.id).not.toBe(SANDBOX.id)
  })

  test('is one that exists for any other request, which does not become the one that completes it', async () => {
    for (const request of ['second', 'second', null])
      expect(await made.make(AGENCY, CALLER, undefined, request)).toMatchObject({ refusal: { code: 'SANDBOX_EXISTS' } })
    expect(await made.make(AGENCY, CALLER, undefined, 'first')).toMatchObject({ kind: 'done' })
  })
})

test('a sandbox whose making was cut short is not made new by a request without a key: nothing says that it is the same one', async () => {
  const loadInventory = () => Promise.reject(new Error('away'))
  catalogue = new Catalogue({ loadInventory } as never)
  catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [] })
  const create = async () => {
    catalogue.putAgency(SANDBOX)
    return done(SANDBOX)
  }
  const cut = new Sandboxes({ ...options, catalogue, agencies: { create, change: async () => done(SANDBOX) } })
  await expect(cut.make(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'started' })
  expect(await cut.make(AGENCY, CALLER)).toMatchObject({ refusal: { code: 'SANDBOX_EXISTS' } })
})

describe('while it is not known what is stored, and the database is away', () => {
  test('none is made: that would be refused because of one that is gone', async () => {
    await expect(sandboxes.remove(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
    await expect(sandboxes.make(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'not_written' })
  })

  test('a sandbox that was not there to be ended is not said to have been replaced', async () => {
    endsAs = async () => {
      isAway = true
      return false
    }
    await expect(sandboxes.remove(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'unknown' })
  })
})

test('E3: a removal waits for the writes in progress, and takes no others meanwhile', async () => {
  const log: string[] = []
  endsAs = async () => log.push('ended') > 0
  const { sandboxWrites } = options.commands
  const write = Promise.withResolvers<void>()
  const writing = sandboxWrites.run(SANDBOX, () => write.promise).then(() => log.push('written'))
  const removing = sandboxes.remove(AGENCY, CALLER)
  await expect(sandboxWrites.run(SANDBOX, async () => {})).rejects.toMatchObject({ outcome: 'not_written' })
  write.resolve()
  expect(await removing).toMatchObject({ kind: 'done' })
  await writing
  expect(log).toEqual(['written', 'ended'])
})

describe('a sandbox that another process has made new and given back, while a reset of it waited here', () => {
  const theirs = { ...SANDBOX, id: sampleId('agc', 'theirs') }
  const wasAway = () => {
    term += 2
    catalogue.forget(SANDBOX.id)
    catalogue.putPart({ agencies: [AGENCY, theirs], keys: [], accessTokens: [], people: [] })
  }
  let ends: string[]
  beforeEach(() => {
    ends = []
    endsAs = async ({ id }) => {
      ends.push(id)
      return true
    }
  })

  test('for writes to it, stays as it is', async () => {
    const write = Promise.withResolvers<void>()
    const writing = options.commands.sandboxWrites.run(SANDBOX, () => write.promise)
    const resetting = sandboxes.reset(AGENCY, CALLER)
    wasAway()
    write.resolve()
    await writing
    await expect(resetting).rejects.toMatchObject({ kind: 'not_owner' })
    expect([ends, sandboxes.of(AGENCY)?.id]).toEqual([[], theirs.id])
  })

  test.each(['reset', 'remove'] as const)('for its turn, stays as it is: %s', async (change) => {
    const first = Promise.withResolvers<boolean>()
    endsAs = (sandbox) => {
      ends.push(sandbox.id)
      return first.promise
    }
    const both = Promise.allSettled([sandboxes.reset(AGENCY, CALLER), sandboxes[change](AGENCY, CALLER)])
    wasAway()
    first.reject(new WriteError('not_written', 'x'))
    expect(await both).toMatchObject([{ reason: { outcome: 'not_written' } }, { reason: { kind: 'not_owner' } }])
    expect([ends, sandboxes.of(AGENCY)?.id]).toEqual([[SANDBOX.id], theirs.id])
  })
})

test('a sandbox whose live agency is not here any more is left to the process that has it, also while it is being ended', async () => {
  const isOver = Promise.withResolvers<boolean>()
  endsAs = () => isOver.promise
  const ahead = sandboxes.reset(SANDBOX, CALLER)
  catalogue.forget(AGENCY.id)
  for (const change of ['reset', 'remove'] as const)
    await expect(sandboxes[change](SANDBOX, CALLER)).rejects.toMatchObject({ kind: 'not_owner' })
  isOver.reject(new WriteError('not_written', 'x'))
  await expect(ahead).rejects.toThrow('x')
})

test('what is read after the shard has left and come back is not put into memory: it may be older', async () => {
  stored = [{ ...SANDBOX, id: sampleId('agc', 'older') }]
  endsAs = async () => false
  whileReading = () => {
    term += 1
  }
  await expect(sandboxes.remove(AGENCY, CALLER)).rejects.toMatchObject({ outcome: 'started' })
  expect(sandboxes.of(AGENCY)?.id).toBe(SANDBOX.id)
})
