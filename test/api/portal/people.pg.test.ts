/** The people of an agency: inviting, changing and removing them, and the links that let them in. */
import { describe, expect, spyOn, test } from 'bun:test'
import { LINK_READS_PER_MINUTE } from '../../../src/accounts/person-sign-in.ts'
import type { Session } from '../../../src/accounts/portal-sessions.ts'
import { WriteError } from '../../../src/core/bookings/write-error.ts'
import { LIVE_CREDENTIALS_MAX } from '../../../src/core/catalogue/agency.ts'
import { REMOVED_PEOPLE_KEPT_MAX } from '../../../src/core/catalogue/people.ts'
import { type Clock, HOUR_MS, MINUTE_MS, systemClock } from '../../../src/lib/clock.ts'
import { systemIds, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresPersonRows } from '../../../src/postgres/stores/postgres-person-rows.ts'
import { makePasskey } from '../../support/authenticator.ts'
import { FROM_THE_PAGE } from '../../support/page-sessions.ts'
import {
  accept,
  cookieOf,
  fromThePage,
  invite,
  type Joined,
  joined,
  makeSignInLink,
  personSignInOf,
  secretIn,
  signInWith,
  TEST_LINKS,
} from '../../support/people.ts'
import { CALLER } from '../../support/samples.ts'
import { TEST_PAGE_URL } from '../../support/service-process.ts'
import { sharedTestService } from '../../support/test-service.ts'

let shiftMs = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
const service = await sharedTestService({ clock })
const agency = await service.agency()
const a = `/agencies/${agency.slug}`

/** As the page asks for this person. */
const as = ({ cookie }: Pick<Joined, 'cookie'>, path: string, json?: unknown, method?: string) =>
  service.ask(path, json, {
    token: null,
    headers: { ...FROM_THE_PAGE, cookie },
    ...(method === undefined ? {} : { method }),
  })
const me = async (person: Pick<Joined, 'cookie'>) => (await as(person, '/me')).status
const show = (link: string) => fromThePage(service, '/portal/links', { link })

describe('an invitation', () => {
  test('makes a person with a link, which says whom it lets in and is used up by the passkey, not by a look at it', async () => {
    const made = await service.ask(`${a}/people`, { name: 'Maria', email: 'Maria@example.com', role: 'desk' })
    expect(made.status).toBe(201)
    const { person, invitation } = made.body
    expect(person).toEqual({
      id: expect.stringMatching(/^per_[0-9a-f]{32}$/),
      name: 'Maria',
      email: 'Maria@example.com',
      role: 'desk',
      createdAt: expect.any(String),
    })
    expect(invitation).toEqual({ link: expect.any(String), expiresAt: expect.any(String), mailed: false })
    expect(invitation.link).toMatch(new RegExp(`^${TEST_PAGE_URL}/portal/#/join/hl_[\\w-]{72}$`))
    const listed = async () =>
      (await service.get(`${a}/people`)).body.people.find(({ id }: Joined['person']) => id === person.id)
    expect(await listed()).toEqual({ ...person, invitedUntil: invitation.expiresAt, passkeys: 0, lastSeenAt: null })

    const secret = secretIn(invitation.link)
    for (let n = 0; n < 2; n++)
      expect((await show(secret)).body).toMatchObject({
        kind: 'invitation',
        agency: { name: agency.name, slug: agency.slug },
        person: { name: 'Maria', role: 'desk' },
        expiresAt: invitation.expiresAt,
        options: { rp: { id: 'localhost' }, user: { name: 'Maria@example.com' } },
      })
    const { answer, cookie } = await accept(service, secret)
    const actor = { kind: 'person', id: person.id, name: 'Maria', role: 'desk', agency: agency.slug }
    expect(answer.body).toEqual({ actor })
    expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Path=\/portal$/)
    expect((await as({ cookie }, '/me')).body).toEqual({ actor })
    const { invitedUntil, passkeys, lastSeenAt } = await listed()
    expect([invitedUntil, passkeys, typeof lastSeenAt]).toEqual([null, 1, 'string'])

    expect((await show(secret)).body.code).toBe('LINK_NOT_VALID')
    const { sql } = service.ledger
    expect((await sql`select from person_link where secret_sha256 = ${secret}`).length).toBe(0)
  })

  test('ends after 72 hours by the clock of the service, and when another one replaces it; nothing says why', async () => {
    const { person, secret } = await invite(service, agency, { role: 'viewer' })
    const again = await service.ask(`${a}/people/${person.id}/invitations`, undefined, { method: 'POST' })
    const next = secretIn(again.body.invitation.link)
    const unknown = TEST_LINKS.make(
      { agencyId: agency.id, personId: person.id, kind: 'invitation' },
      { now: 0, lifetimeMs: 0 },
    )
    const refusals = [await show(secret), await show(unknown.secret)]
    expect((await show(next)).status).toBe(200)
    shiftMs = 72 * HOUR_MS
    refusals.push(await show(next), await show('hl_nothing'))
    shiftMs = 0
    const { options } = (await show(next)).body
    const { passkey } = makePasskey(options)
    for (const link of [secret, 'hl_nothing'])
      refusals.push(await fromThePage(service, '/portal/session', { link, name: 'x', passkey }))
    for (const { status, body } of refusals) {
      expect([status, body.code]).toEqual([401, 'LINK_NOT_VALID'])
      expect(body.title).toBe(refusals[0]?.body.title)
    }
  })

  test('that two open at once lets in one of them', async () => {
    const { person, secret } = await invite(service, agency, { role: 'desk' })
    const shown = [await show(secret), await show(secret)]
    const use = async (passkey: unknown) => {
      const answer = await fromThePage(service, '/portal/session', { link: secret, name: 'x', passkey })
      return { answer, cookie: cookieOf(answer) }
    }
    const both = await Promise.all(shown.map(({ body }) => use(makePasskey(body.options).passkey)))
    expect(both.map(({ answer }) => answer.status).sort()).toEqual([200, 401])
    const [row] = await service.ledger.sql<{ count: number }[]>`
      select count(*)::int from passkey where person_id = ${uuidOf(person.id)}`
    expect(row?.count).toBe(1)
    for (const { answer, cookie } of both) expect(await me({ cookie })).toBe(answer.status)
  })

  test('that was found twice is used once; one that signs in, not after it has expired either', async () => {
    const personSignIn = personSignInOf(service)
    const found = async (secret: string) => {
      const link = await personSignIn.findLink(secret, null)
      if (link === null || !('link' in link)) throw new Error('Expected a link')
      return link
    }
    const { person, secret } = await invite(service, agency, { role: 'desk' })
    const { options } = (await show(secret)).body
    const use = async (link: Awaited<ReturnType<typeof found>>) => {
      const { passkey } = makePasskey(options)
      const made = await personSignIn.verifyNew(link, { name: 'x', passkey })
      if (made === null) throw new Error('Expected a passkey')
      return personSignIn.useInvitation(link, made, { sha256: '' } as Session, CALLER)
    }
    const both = [await found(secret), await found(secret)] as const
    expect([await use(both[0]), await use(both[1])]).toEqual([true, false])
    expect((await personSignIn.passkeysOf(both[0].member)).length).toBe(1)
    const signsIn = await found(await makeSignInLink(service, agency, person, MINUTE_MS))
    shiftMs = MINUTE_MS
    expect(await personSignIn.useLink(signsIn, CALLER)).toBe(false)
    shiftMs = 0
    expect([await personSignIn.useLink(signsIn, CALLER), await personSignIn.useLink(signsIn, CALLER)]).toEqual([
      true,
      false,
    ])
  })

  test('of somebody who has passkeys ends these and their sessions when it is used, not before', async () => {
    const before = await joined(service, agency, 'manager', 'Rui')
    const { body } = await service.ask(`${a}/people/${before.person.id}/invitations`, undefined, { method: 'POST' })
    expect([await me(before), (await signInWith(service, before.device)).status]).toEqual([200, 200])
    const after = await accept(service, secretIn(body.invitation.link))
    expect([await me(before), await me(after)]).toEqual([401, 200])
    expect((await signInWith(service, before.device)).status).toBe(401)
    expect((await signInWith(service, after.device)).status).toBe(200)
  })

  test('is for people only: a sandbox has none, and an e-mail address belongs to one, whatever its case', async () => {
    const sandbox = await service.ask(`${a}/sandbox`, undefined, { method: 'POST' })
    const refused = await service.ask(`/agencies/${sandbox.body.agency.slug}/people`, { name: 'x', role: 'desk' })
    expect([refused.status, refused.body.code]).toEqual([403, 'FEATURE_DISABLED'])

    const draft = { name: 'Ana', email: 'ana@example.com', role: 'desk' }
    const shouted = { ...draft, email: 'ANA@EXAMPLE.COM' }
    const both = await Promise.all([service.ask(`${a}/people`, draft), service.ask(`${a}/people`, shouted)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    expect((await service.ask(`${a}/people`, shouted)).body.code).toBe('EMAIL_TAKEN')
    const { person } = await invite(service, agency, { role: 'desk' })
    const taken = await service.patch(`${a}/people/${person.id}`, { email: shouted.email })
    expect([taken.status, taken.body.title]).toEqual([
      409,
      'Another person already has the e-mail address ANA@EXAMPLE.COM',
    ])
    const other = await service.agency()
    expect((await service.ask(`/agencies/${other.slug}/people`, draft)).status).toBe(201)
    const ana = both.find(({ status }) => status === 201)?.body.person
    await service.delete(`${a}/people/${ana.id}`)
    expect((await service.ask(`${a}/people`, draft)).status).toBe(201)
  })

  test('cannot be answered with the passkey of another person’s invitation, nor without one', async () => {
    const [maria, rui] = [
      await invite(service, agency, { role: 'owner' }),
      await invite(service, agency, { role: 'desk' }),
    ]
    const { passkey } = makePasskey((await show(rui.secret)).body.options)
    const swapped = await fromThePage(service, '/portal/session', { link: maria.secret, name: 'x', passkey })
    expect([swapped.status, swapped.body.errors[0].field]).toEqual([400, 'passkey'])
    const without = await fromThePage(service, '/portal/session', { link: maria.secret })
    expect([without.status, without.body.errors[0].field]).toEqual([400, 'passkey'])
    expect((await accept(service, maria.secret)).answer.status).toBe(200)
  })

  test('is looked up a few times a minute at most, whatever it is shown for', async () => {
    const { secret } = await invite(service, agency, { role: 'desk' })
    const { passkey } = makePasskey((await show(secret)).body.options)
    const bodies = [{ link: secret }, { link: secret, name: 'x', passkey }]
    for (let n = 1; n < LINK_READS_PER_MINUTE; n++) await fromThePage(service, '/portal/session', bodies[0])
    const reading = spyOn(service.ledger.lists, 'read')
    for (const answer of [
      await show(secret),
      ...(await Promise.all(bodies.map((body) => fromThePage(service, '/portal/session', body)))),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([429, 'RATE_LIMITED'])
      expect(answer.body.title).toMatch(/^Rate limit of 20 requests per minute of a link exceeded: retry in \d+ s$/)
    }
    expect(reading).not.toHaveBeenCalled()
    reading.mockRestore()
  })
})

describe('a link that signs in', () => {
  const linkFor = (person: Joined['person']) => makeSignInLink(service, agency, person, 10 * MINUTE_MS)
  const use = (link: string, headers = {}) => fromThePage(service, '/portal/session', { link }, headers)

  test('does so once, keeps the passkeys, and ends the session that the browser had', async () => {
    const maria = await joined(service, agency, 'desk')
    const link = await linkFor(maria.person)
    expect((await show(link)).body).toMatchObject({ kind: 'sign_in', options: null })
    const both = await Promise.all([use(link, { cookie: maria.cookie }), use(link)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    const won = both.find(({ status }) => status === 200)
    expect(await me({ cookie: won === undefined ? '' : cookieOf(won) })).toBe(200)
    expect(await me(maria)).toBe(won === both[0] ? 401 : 200)
    expect((await signInWith(service, maria.device)).status).toBe(200)
    const lines = (await service.get(`${a}/audit?person=${maria.person.id}&outcome=OK`)).body.audit
    expect(lines.map(({ route }: { route: string }) => route)).toEqual(Array(3).fill('POST /portal/session'))
  })

  test('does not when it has expired, nor for a person who was removed or whose agency is suspended', async () => {
    const maria = await joined(service, agency, 'desk')
    const link = await linkFor(maria.person)
    shiftMs = 10 * MINUTE_MS
    expect((await use(link)).body.code).toBe('LINK_NOT_VALID')
    shiftMs = 0
    await service.patch(a, { status: 'suspended' })
    expect((await use(link)).body.code).toBe('LINK_NOT_VALID')
    await service.patch(a, { status: 'active' })
    await service.delete(`${a}/people/${maria.person.id}`)
    expect((await use(link)).body.code).toBe('LINK_NOT_VALID')
  })
})

describe('a person', () => {
  test('is listed also while the database cannot say what access they have, so that they can be removed', async () => {
    const other = await service.agency()
    const path = `/agencies/${other.slug}/people`
    const { person } = await invite(service, other, { role: 'desk' })
    const { lists } = service.ledger
    const reading = spyOn(lists, 'read').mockImplementation(() => Promise.reject(new Error('The database is away')))
    const { status, body } = await service.get(path)
    reading.mockRestore()
    expect([status, body.totalItems]).toEqual([200, 1])
    expect(body.people[0]).toEqual({ ...person, invitedUntil: null, passkeys: null, lastSeenAt: null })
    expect((await service.get(path)).body.people[0]).toMatchObject({ id: person.id, passkeys: 0 })
    expect(service.bugs).toEqual([])
  })

  test('acts under their own name, which the audit trail keeps when they have left', async () => {
    const { person, cookie } = await joined(service, agency, 'desk', 'Inês')
    const guests = await as({ cookie }, `${a}/guests`)
    expect(guests.status).toBe(200)
    const refused = await as({ cookie }, `${a}/keys`, {})
    expect([refused.status, refused.body.code]).toEqual([403, 'ROLE_MISSING'])
    const unit = await service.unit(agency)
    const stay = {
      unit: unit.slug,
      arrival: '2027-03-01',
      departure: '2027-03-04',
      guest: { firstName: 'A', lastName: 'B' },
    }
    const booked = await as({ cookie }, `${a}/bookings`, stay)
    expect(booked.status).toBe(201)
    await service.delete(`${a}/people/${person.id}`)
    const lines = (await service.get(`${a}/audit?person=${person.id}`)).body.audit
    expect(new Set(lines.map(({ outcome }: { outcome: string }) => outcome))).toEqual(new Set(['OK', 'ROLE_MISSING']))
    for (const { actor } of lines) expect(actor).toEqual({ kind: 'person', id: person.id, name: 'Inês' })
    expect((await service.get(`${a}/audit?actor=person&booking=${booked.body.booking.id}`)).body.totalItems).toBe(1)
  })

  test('keeps their name in the audit trail when memory has forgotten them, because a thousand others were removed later', async () => {
    const other = await service.agency()
    const { person, cookie } = await joined(service, other, 'owner', 'Inês')
    const path = `/agencies/${other.slug}`
    expect((await as({ cookie }, `${path}/people`, { name: 'x', role: 'desk' })).status).toBe(201)
    await service.delete(`${path}/people/${person.id}`)
    const { catalogue } = service.ledger
    const { clock } = service.ledger
    const base = { agencyId: other.id, name: 'x', email: null, role: 'viewer', createdAt: 0, revision: 0 } as const
    for (let n = 0; n <= REMOVED_PEOPLE_KEPT_MAX; n++)
      catalogue.putPerson({ ...base, id: systemIds('per'), removedAt: clock.now() + HOUR_MS })
    expect(catalogue.personById(other.id, person.id)).toBeNull()
    const { audit } = (await service.get(`${path}/audit?person=${person.id}`)).body
    expect(audit.map(({ actor }: { actor: { name: string } }) => actor.name)).toEqual(['Inês', 'Inês'])
  })

  test('who is removed is out at once: sessions, passkeys and links, for good', async () => {
    const { person, cookie, device } = await joined(service, agency, 'desk')
    await service.patch(`${a}/people/${person.id}`, { email: 'leaves@example.com' })
    const invited = await service.ask(`${a}/people/${person.id}/invitations`, undefined, { method: 'POST' })
    const removed = await service.delete(`${a}/people/${person.id}`)
    expect(removed.body.person).toMatchObject({ id: person.id, name: person.name, email: null })
    expect([await me({ cookie }), (await signInWith(service, device)).status]).toEqual([401, 401])
    expect((await show(secretIn(invited.body.invitation.link))).status).toBe(401)
    const { people } = (await service.get(`${a}/people?pageSize=200`)).body
    expect(people.map(({ id }: Joined['person']) => id)).not.toContain(person.id)
    expect((await service.patch(`${a}/people/${person.id}`, { role: 'owner' })).status).toBe(404)
    const again = await service.ask(`${a}/people/${person.id}/invitations`, undefined, { method: 'POST' })
    expect(again.status).toBe(404)
    const [row] = await service.ledger.sql<
      { email: string | null; passkeys: number; links: number; sessions: number }[]
    >`
      select (select email from person where person_id = ${uuidOf(person.id)}) as email,
             (select count(*)::int from passkey where person_id = ${uuidOf(person.id)}) as passkeys,
             (select count(*)::int from person_link where person_id = ${uuidOf(person.id)}) as links,
             (select count(*)::int from portal_session where person_id = ${uuidOf(person.id)}) as sessions`
    expect(row).toEqual({ email: null, passkeys: 0, links: 0, sessions: 0 })
  })

  test('gets a new role from the next request on, and signs in again; another name leaves the sessions alone', async () => {
    const { person, cookie, device } = await joined(service, agency, 'manager')
    const renamed = await service.patch(`${a}/people/${person.id}`, { name: 'Ana Maria', email: 'am@example.com' })
    expect(renamed.body.person).toMatchObject({ name: 'Ana Maria', email: 'am@example.com', role: 'manager' })
    expect((await as({ cookie }, '/me')).body.actor.name).toBe('Ana Maria')
    await service.patch(`${a}/people/${person.id}`, { role: 'viewer' })
    expect(await me({ cookie })).toBe(401)
    const again = await signInWith(service, device)
    expect(again.body.actor.role).toBe('viewer')
  })

  test('with another e-mail address is signed out, and nothing that was sent to the old one lets anybody in', async () => {
    const { person, secret } = await invite(service, agency, { role: 'desk', email: 'old@example.com' })
    const { cookie, device } = await accept(service, secret)
    const path = `${a}/people/${person.id}`
    const linkNow = () => makeSignInLink(service, agency, person, 10 * MINUTE_MS)
    const invited = await service.ask(`${path}/invitations`, undefined, { method: 'POST' })
    const links = [await linkNow(), secretIn(invited.body.invitation.link)]
    await service.patch(path, { email: 'OLD@example.com', name: 'Ana' })
    expect([await me({ cookie }), ...(await Promise.all(links.map(show))).map(({ status }) => status)]).toEqual([
      200, 200, 200,
    ])
    await service.patch(path, { email: 'new@example.com' })
    expect([await me({ cookie }), ...(await Promise.all(links.map(show))).map(({ status }) => status)]).toEqual([
      401, 401, 401,
    ])
    expect((await signInWith(service, device)).status).toBe(200)
  })

  test('with another e-mail address that cannot be stored yet is let in by nothing sent to the old one, though it is stored still', async () => {
    const { person, secret } = await invite(service, agency, { role: 'desk', email: 'former@example.com' })
    const link = await makeSignInLink(service, agency, person, 10 * MINUTE_MS)
    const { passkey } = makePasskey((await show(secret)).body.options)
    const path = `${a}/people/${person.id}`
    const storing = spyOn(PostgresPersonRows.prototype, 'updatePerson').mockImplementation(() =>
      Promise.reject(new WriteError('not_written', 'The database is away')),
    )
    expect((await service.patch(path, { email: 'later@example.com' })).status).toBe(500)
    for (const body of [{ link }, { link: secret, name: 'x', passkey }])
      expect((await fromThePage(service, '/portal/session', body)).body.code).toBe('LINK_NOT_VALID')
    storing.mockRestore()
    const { body } = await service.ask(`${path}/invitations`, undefined, { method: 'POST' })
    const [row] = await service.ledger.sql<{ email: string; links: number; passkeys: number }[]>`
      select (select email from person where person_id = ${uuidOf(person.id)}) as email,
             (select count(*)::int from person_link where person_id = ${uuidOf(person.id)}) as links,
             (select count(*)::int from passkey where person_id = ${uuidOf(person.id)}) as passkeys`
    expect(row).toEqual({ email: 'later@example.com', links: 1, passkeys: 0 })
    expect((await accept(service, secretIn(body.invitation.link))).answer.status).toBe(200)
    expect(service.bugs).toEqual([])
  })

  test('who gets another role keeps the invitation, but no link that signs in', async () => {
    const { person, secret } = await invite(service, agency, { role: 'desk' })
    const link = await makeSignInLink(service, agency, person, 10 * MINUTE_MS)
    await service.patch(`${a}/people/${person.id}`, { role: 'viewer' })
    expect([(await show(link)).status, (await show(secret)).body.person.role]).toEqual([401, 'viewer'])
    const later = await makeSignInLink(service, agency, person, 10 * MINUTE_MS)
    expect([(await accept(service, secret)).answer.status, (await show(later)).status]).toEqual([200, 401])
  })

  test('is changed in what a request may change, whatever else it has', async () => {
    const other = await service.agency()
    const [maria, boss] = [await joined(service, agency, 'desk'), await joined(service, agency, 'owner')]
    const theirs = await joined(service, other, 'viewer')
    const more = { agencyId: other.id, createdAt: 0, removedAt: null, revision: 1e12 }
    for (const id of [theirs.person.id, 'x']) {
      const answer = await as(
        boss,
        `${a}/people/${maria.person.id}`,
        { ...more, id, name: 'Eve', role: 'owner' },
        'PATCH',
      )
      expect([answer.status, answer.body.person.id]).toEqual([200, maria.person.id])
    }
    expect((await as(theirs, '/me')).body.actor).toMatchObject({ name: theirs.person.name, role: 'viewer' })
    const rows = await service.ledger.sql<{ name: string; role: string; revision: number }[]>`
      select name, role, revision from person where person_id in (${uuidOf(theirs.person.id)}, ${uuidOf(maria.person.id)})
      order by name`
    expect(rows.map(({ name, role, revision }) => [name, role, revision])).toEqual([
      ['Eve', 'owner', 2],
      [theirs.person.name, 'viewer', 0],
    ])
    expect(service.bugs).toEqual([])
  })

  test('does not come back with an agency that was suspended', async () => {
    const other = await service.agency()
    const maria = await joined(service, other, 'owner')
    await service.patch(`/agencies/${other.slug}`, { status: 'suspended' })
    expect((await signInWith(service, maria.device)).status).toBe(401)
    await service.patch(`/agencies/${other.slug}`, { status: 'active' })
    expect(await me(maria)).toBe(401)
    expect((await signInWith(service, maria.device)).status).toBe(200)
  })

  test('who is an owner opens the sandbox of the agency, under their own name', async () => {
    const other = await service.agency()
    const maria = await joined(service, other, 'owner', 'Maria')
    const { body } = await as(maria, `/agencies/${other.slug}/sandbox`, undefined, 'POST')
    const { slug } = body.agency
    expect((await as(maria, `/agencies/${slug}/keys`, {})).status).toBe(201)
    const { audit } = (await as(maria, `/agencies/${slug}/audit?actor=person`)).body
    expect(audit[0].actor).toEqual({ kind: 'person', id: maria.person.id, name: 'Maria' })
  })

  test('is one of 200, each of which counts until removed', async () => {
    const other = await service.agency()
    const { catalogue } = service.ledger
    const base = {
      agencyId: other.id,
      email: null,
      role: 'viewer',
      createdAt: 0,
      removedAt: null,
      revision: 0,
    } as const
    for (let n = 0; n < LIVE_CREDENTIALS_MAX - 1; n++)
      catalogue.putPerson({ ...base, id: systemIds('per'), name: `${n}` })
    const path = `/agencies/${other.slug}/people`
    const both = await Promise.all([
      service.ask(path, { name: 'x', role: 'desk' }),
      service.ask(path, { name: 'y', role: 'desk' }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
    const made = both.find(({ status }) => status === 201)?.body.person
    await service.delete(`${path}/${made.id}`)
    expect((await service.ask(path, { name: 'z', role: 'desk' })).status).toBe(201)
  })
})

describe('the last owner who can sign in', () => {
  test('is neither removed nor demoted by anybody but the operator', async () => {
    const other = await service.agency()
    const path = `/agencies/${other.slug}/people`
    const maria = await joined(service, other, 'owner')
    const invited = await invite(service, other, { role: 'owner' })
    const own = `${path}/${maria.person.id}`
    for (const refused of [await as(maria, own, { role: 'desk' }, 'PATCH'), await as(maria, own, undefined, 'DELETE')])
      expect([refused.status, refused.body.code]).toEqual([409, 'LAST_OWNER'])
    // Who has not accepted yet is no loss.
    expect((await as(maria, `${path}/${invited.person.id}`, undefined, 'DELETE')).status).toBe(200)
    expect((await as(maria, own, { name: 'Maria', role: 'owner' }, 'PATCH')).status).toBe(200)
    expect((await service.delete(own)).status).toBe(200)
  })

  test('is left when two owners remove each other at once', async () => {
    const other = await service.agency()
    const [maria, rui] = [await joined(service, other, 'owner'), await joined(service, other, 'owner')]
    const path = `/agencies/${other.slug}/people`
    const both = await Promise.all([
      as(maria, `${path}/${rui.person.id}`, undefined, 'DELETE'),
      as(rui, `${path}/${maria.person.id}`, { role: 'viewer' }, 'PATCH'),
    ])
    expect(both.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
    const { people } = (await service.get(path)).body
    expect(people.filter(({ role }: Joined['person']) => role === 'owner')).toHaveLength(1)
  })
})
