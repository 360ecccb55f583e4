import { beforeEach, describe, expect, test } from 'bun:test'
import { PeopleCommands } from '../../src/accounts/people-commands.ts'
import { PersonChanges } from '../../src/accounts/person-changes.ts'
import { LinkSecrets } from '../../src/accounts/person-links.ts'
import type { PersonRows } from '../../src/accounts/person-rows.ts'
import { RETRY_EVERY_MS, RevocationNotStoredError } from '../../src/accounts/store-retries.ts'
import { WriteError } from '../../src/core/bookings/write-error.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Person } from '../../src/core/catalogue/people.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

const person = (name: string, more: Partial<Person> = {}): Person => ({
  id: sampleId('per', name),
  agencyId: AGENCY.id,
  name,
  email: null,
  role: 'owner',
  createdAt: 0,
  removedAt: null,
  revision: 0,
  ...more,
})
const as = ({ id }: Person, requestId: string | null = null): Caller => ({
  actor: { kind: 'person', id },
  route: 'x',
  requestId,
})
const OPERATOR: Caller = { actor: { kind: 'portal', id: null }, route: 'x', requestId: 'remove' }
const ANA = person('ana')
const RUI = person('rui')

let clock: FakeClock
let catalogue: Catalogue
/** What becomes of writes. */
let isAway: boolean
/** What the answers to changes wait for. */
let answering: Promise<void>
/** Request ids of the lines that were stored, and what ended with each. */
let lines: [string | null, string][]
let withPasskeys: string[]

function commandsOf(provider: { readonly isOnly: boolean } | null = null): PeopleCommands {
  const rows: Partial<PersonRows> = {
    peopleWithPasskeys: async () => withPasskeys,
    updatePerson: async (_, ends, { requestId }) => {
      await answering
      if (isAway) throw new WriteError('not_written', 'x')
      lines.push([requestId, ends])
    },
    insertInvitation: async (_, { requestId }) => void lines.push([requestId, 'nothing']),
  }
  return new PeopleCommands({
    catalogue,
    rows: rows as PersonRows,
    changes: new PersonChanges({ catalogue, rows: rows as PersonRows, sessions: { endAllOf: () => {} }, clock }),
    store: { settle: async () => {}, loadPeople: async () => [] },
    clock,
    newId: systemIds,
    links: new LinkSecrets({ secretKey: new Uint8Array(32), random: (bytes) => new Uint8Array(bytes) }),
    provider,
  })
}

beforeEach(() => {
  clock = new FakeClock()
  catalogue = new Catalogue({} as never)
  catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [ANA, RUI] })
  isAway = false
  answering = Promise.resolve()
  lines = []
  withPasskeys = [ANA.id, RUI.id]
})

const codeOf = (outcome: Awaited<ReturnType<PeopleCommands['remove']>>) =>
  outcome.kind === 'refused' ? outcome.refusal.code : outcome.kind

describe('an owner who can sign in is left', () => {
  test('when two remove or demote each other in the same moment', async () => {
    for (const change of [{ role: 'desk' }, null] as const) {
      catalogue.putPart({ agencies: [AGENCY], keys: [], accessTokens: [], people: [] })
      const [a, b] = [person('a', { revision: 10 }), person('b', { revision: 10 })]
      for (const each of [a, b]) catalogue.putPerson(each)
      for (const each of [ANA, RUI]) catalogue.putPerson({ ...each, removedAt: 1, revision: 10 })
      withPasskeys = [a.id, b.id]
      const commands = commandsOf()
      const does = (by: Person, to: Person) =>
        change === null ? commands.remove(AGENCY, to.id, as(by)) : commands.update(AGENCY, to.id, change, as(by))
      const both = await Promise.all([does(a, b), does(b, a)])
      expect(both.map(codeOf).sort()).toEqual(['LAST_OWNER', 'done'])
    }
  })

  test('where the provider is the only way in: a passkey is none then', async () => {
    catalogue.putPerson({ ...ANA, email: 'ana@example.com', revision: 1 })
    const commands = commandsOf({ isOnly: true })
    expect(codeOf(await commands.remove(AGENCY, ANA.id, as(RUI)))).toBe('LAST_OWNER')
    expect(codeOf(await commands.update(AGENCY, ANA.id, { email: null }, as(RUI)))).toBe('LAST_OWNER')
    expect(codeOf(await commands.update(AGENCY, ANA.id, { email: 'ana@example.org' }, as(RUI)))).toBe('done')
    expect(codeOf(await commands.remove(AGENCY, RUI.id, as(ANA)))).toBe('done')
  })

  test('when the only one with an address or a passkey gives up the address', async () => {
    withPasskeys = []
    catalogue.putPerson({ ...ANA, email: 'ana@example.com', revision: 1 })
    const withoutAddress = (by: Caller) => commandsOf({ isOnly: false }).update(AGENCY, ANA.id, { email: null }, by)
    expect(codeOf(await withoutAddress(as(ANA)))).toBe('LAST_OWNER')
    withPasskeys = [RUI.id]
    expect(codeOf(await withoutAddress(as(ANA)))).toBe('done')
  })
})

describe('while the database is away', () => {
  test('each change of a person keeps its line of the audit trail, in order, and what ends with it', async () => {
    const commands = commandsOf()
    isAway = true
    const demote = commands.update(AGENCY, ANA.id, { role: 'desk' }, as(RUI, 'first'))
    expect(await demote.catch((error: unknown) => error)).toBeInstanceOf(RevocationNotStoredError)
    const rename = commands.update(AGENCY, ANA.id, { name: 'Ana Maria' }, as(RUI, 'second'))
    expect(await rename.catch((error: unknown) => error)).toBeInstanceOf(RevocationNotStoredError)
    isAway = false
    expect(codeOf(await commands.update(AGENCY, ANA.id, { name: 'Ana M.' }, as(RUI, 'third')))).toBe('done')
    const all: typeof lines = [
      ['first', 'sessions'],
      ['second', 'nothing'],
      ['third', 'nothing'],
    ]
    expect(lines).toEqual(all)
    await clock.advance(2 * RETRY_EVERY_MS)
    expect(lines).toEqual(all)
  })

  test('they are stored when it is back', async () => {
    const commands = commandsOf()
    isAway = true
    for (const name of ['first', 'second'])
      await commands.update(AGENCY, ANA.id, { name }, as(RUI, name)).catch(() => {})
    isAway = false
    await clock.advance(RETRY_EVERY_MS)
    expect(lines.map(([requestId]) => requestId)).toEqual(['first', 'second'])
  })

  test('a retry that is late takes no line from a change that was made meanwhile, at whatever step', async () => {
    for (let steps = 0; steps < 12; steps++) {
      const commands = commandsOf()
      const rename = (name: string) => commands.update(AGENCY, ANA.id, { name }, as(RUI, name)).catch(() => {})
      lines = []
      isAway = true
      await rename('first')
      const { promise, resolve } = Promise.withResolvers<void>()
      answering = promise
      isAway = false
      const second = rename('second')
      // The retry has its turn behind the second change, with which the first is stored.
      await clock.advance(RETRY_EVERY_MS)
      resolve()
      for (let step = 0; step < steps; step++) await null
      isAway = lines.length === 2
      const third = rename('third')
      await second
      await third
      isAway = false
      await rename('fourth')
      expect(lines.map(([requestId]) => requestId)).toEqual(['first', 'second', 'third', 'fourth'])
    }
  })

  test('an invitation is made when they are stored, so that none of them ends it', async () => {
    const commands = commandsOf()
    catalogue.putPerson({ ...ANA, email: 'ana@example.com', revision: 1 })
    isAway = true
    await commands.update(AGENCY, ANA.id, { email: 'ana@example.org' }, as(RUI, 'change')).catch(() => {})
    const failed = await commands.invite(AGENCY, ANA.id, as(RUI, 'too early')).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(WriteError)
    isAway = false
    expect(await commands.invite(AGENCY, ANA.id, as(RUI, 'invite'))).toMatchObject({
      value: { person: { email: 'ana@example.org' } },
    })
    await clock.advance(2 * RETRY_EVERY_MS)
    expect(lines).toEqual([
      ['change', 'links'],
      ['invite', 'nothing'],
    ])
  })

  test('an invitation waits for a removal on its way, and is then not made', async () => {
    const commands = commandsOf()
    const removed = commands.remove(AGENCY, ANA.id, OPERATOR)
    const invited = commands.invite(AGENCY, ANA.id, as(RUI, 'invite'))
    expect([await removed, await invited].map(({ kind }) => kind)).toEqual(['done', 'not_found'])
    expect(lines).toEqual([['remove', 'everything']])
  })
})
