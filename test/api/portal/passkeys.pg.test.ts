/** Passkeys, over HTTP with a software authenticator: signing in, and the passkeys and sessions of one's own. */
import { describe, expect, spyOn, test } from 'bun:test'
import { PASSKEYS_PER_PERSON_MAX } from '../../../src/accounts/passkeys.ts'
import { type Clock, MINUTE_MS, systemClock } from '../../../src/lib/clock.ts'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { answerWith, type Device, makePasskey } from '../../support/authenticator.ts'
import { eventually } from '../../support/eventually.ts'
import { FROM_THE_PAGE, signIn } from '../../support/page-sessions.ts'
import {
  accept,
  cookieOf,
  fromThePage,
  invite,
  type Joined,
  joined,
  personSignInOf,
  signInOptions,
  signInWith,
} from '../../support/people.ts'
import { CALLER } from '../../support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../../support/service-process.ts'
import { sharedTestService, startTestService } from '../../support/test-service.ts'

let shiftMs = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }
const service = await sharedTestService({ clock })
const agency = await service.agency()

const as = ({ cookie }: Pick<Joined, 'cookie'>, path: string, json?: unknown, method?: string) =>
  service.ask(path, json, {
    token: null,
    headers: { ...FROM_THE_PAGE, cookie },
    ...(method === undefined ? {} : { method }),
  })
const me = async (person: Pick<Joined, 'cookie'>) => (await as(person, '/me')).status
const send = (passkey: unknown, headers = {}) => fromThePage(service, '/portal/session', { passkey }, headers)

/** The lines of a person's refused sign-ins, which are written a moment later. */
async function countsOf({ person }: Joined): Promise<Record<string, number>> {
  await service.ledger.refusals.flush()
  const { audit } = (await service.get(`/agencies/${agency.slug}/audit?person=${person.id}&pageSize=200`)).body
  const counts: Record<string, number> = {}
  for (const { outcome, count } of audit) counts[outcome] = (counts[outcome] ?? 0) + count
  return counts
}

describe('a passkey signs in', () => {
  test('with a new session each time; the one that the browser had ends', async () => {
    const maria = await joined(service, agency, 'desk', 'Maria')
    const [first, second] = [
      await signInWith(service, maria.device),
      await signInWith(service, maria.device, {}, { cookie: maria.cookie }),
    ]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(first.body.actor).toEqual({
      kind: 'person',
      id: maria.person.id,
      name: 'Maria',
      role: 'desk',
      agency: agency.slug,
    })
    expect(new Set([maria.cookie, cookieOf(first), cookieOf(second)]).size).toBe(3)
    expect([await me(maria), await me({ cookie: cookieOf(first) })]).toEqual([401, 200])
  })

  test('never into a session that somebody else has put into the browser', async () => {
    const maria = await joined(service, agency, 'desk')
    const planted = `nightledger_session=${'A'.repeat(43)}`
    const answer = await signInWith(service, maria.device, {}, { cookie: planted })
    expect([answer.status, cookieOf(answer) === planted, await me({ cookie: planted })]).toEqual([200, false, 401])
  })

  test('once for each challenge, also when the same answer comes twice at the same time', async () => {
    const maria = await joined(service, agency, 'desk')
    const passkey = answerWith(maria.device, await signInOptions(service))
    const both = await Promise.all([send(passkey), send(passkey)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    expect((await send(passkey)).status).toBe(401)
    expect((await signInWith(service, maria.device)).status).toBe(200)
  })

  test('once for each challenge and each count, also when two answers were verified before either is used', async () => {
    const { secret } = await invite(service, agency, { role: 'desk' })
    const { device } = await accept(service, secret, { signCount: 5 })
    const personSignIn = personSignInOf(service)
    const verified = async (by: Device) => {
      const answer = answerWith(by, await signInOptions(service))
      const member = personSignIn.claimedBy(answer)
      const found = member === null ? null : await personSignIn.verify(member, answer)
      if (found === null || found === 'cloned') throw new Error('Expected a passkey')
      return found
    }
    const clone = { ...device }
    const own = await verified(device)
    const copied = await verified(clone)
    const again = await verified({ ...device, signCount: 50 })
    const use = (found: typeof own) => personSignIn.usePasskey(found, CALLER)
    expect([await use(own), await use(own), await use(copied), await use(again)]).toEqual([true, false, false, true])
    // An older challenge, although the count is higher.
    expect(await use({ ...copied, signCount: 90 })).toBe(false)
  })

  test('within five minutes, with a challenge of the service', async () => {
    const maria = await joined(service, agency, 'desk')
    const options = await signInOptions(service)
    const late = answerWith(maria.device, options)
    shiftMs = 5 * MINUTE_MS + 1_000
    expect((await send(late)).status).toBe(401)
    shiftMs = 0
    const challenge = Buffer.from(options.challenge, 'base64url')
    challenge[20] = (challenge[20] ?? 0) ^ 1
    const [forged, ours] = [
      challenge.toString('base64url'),
      (await as(maria, '/me/passkeys/options', undefined, 'POST')).body.options.challenge,
    ]
    for (const other of [forged, ours, '', 'x'.repeat(200)])
      expect((await send(answerWith(maria.device, { ...options, challenge: other }))).status).toBe(401)
    expect((await send(answerWith(maria.device, options))).status).toBe(200)
  })

  test('only for this page: not for another origin, another host or a user who was not verified', async () => {
    const maria = await joined(service, agency, 'desk')
    const options = await signInOptions(service)
    const wrong = [
      answerWith(maria.device, options, { origin: 'https://evil.example' }),
      answerWith(maria.device, options, { origin: 'http://localhost:3001' }),
      answerWith(maria.device, { ...options, rpId: 'evil.example' }),
      answerWith(maria.device, options, { flags: 0x01 }),
      answerWith(maria.device, options, { flags: 0x04 }),
    ]
    const answers = await Promise.all(wrong.map((passkey) => send(passkey)))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    expect(await countsOf(maria)).toEqual({ OK: 1, UNAUTHORIZED: 5 })
  })

  test('its own person, not the one whom the answer names, and says nothing about either', async () => {
    const [maria, rui] = [await joined(service, agency, 'owner'), await joined(service, agency, 'viewer')]
    const options = await signInOptions(service)
    const nobody = Buffer.alloc(32, 7).toString('base64url')
    const stranger = makePasskey({
      challenge: '',
      rp: { id: 'localhost', name: '' },
      user: { id: nobody, name: '', displayName: '' },
    })
    const wrong = [
      answerWith(rui.device, options, { userHandle: maria.device.userHandle }),
      answerWith(stranger.device, options, { userHandle: maria.device.userHandle }),
      answerWith(stranger.device, options),
      answerWith(maria.device, options, { userHandle: 'x' }),
      { ...answerWith(maria.device, options), id: rui.device.credentialId.toString('base64url') },
    ]
    const bodies = []
    for (const passkey of wrong) {
      const { status, body } = await send(passkey)
      expect(status).toBe(401)
      bodies.push({ ...body, requestId: '' })
    }
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  })

  test('unless its counter goes back: it was cloned, is refused each time, and the owner sees it', async () => {
    const { secret } = await invite(service, agency, { role: 'desk' })
    const accepted = await accept(service, secret, { signCount: 5 })
    const maria = { ...accepted, person: accepted.answer.body.actor } as Joined
    const clone = { ...maria.device }
    expect((await signInWith(service, maria.device)).status).toBe(200)
    expect((await signInWith(service, maria.device)).status).toBe(200)
    const answer = answerWith(maria.device, await signInOptions(service))
    for (const status of [200, 401]) expect((await send(answer)).status).toBe(status)
    // What was sent twice is no copy.
    expect(await countsOf(maria)).not.toHaveProperty('PASSKEY_CLONED')
    for (let n = 0; n < 2; n++) expect((await signInWith(service, clone)).status).toBe(401)
    expect(await countsOf(maria)).toMatchObject({ PASSKEY_CLONED: 2 })
    clone.signCount += 1
    expect((await signInWith(service, clone)).status).toBe(200)
  })

  test('not when a body is no passkey at all', async () => {
    const answer = answerWith((await joined(service, agency, 'desk')).device, await signInOptions(service))
    const { response } = answer
    for (const passkey of [
      null,
      'x',
      {},
      { ...answer, type: 'x' },
      { ...answer, response: {} },
      { ...answer, id: 'x'.repeat(2_000) },
    ])
      expect((await send(passkey)).status).toBe(400)
    for (const change of [
      { clientDataJSON: 'x' },
      { authenticatorData: 'x' },
      { signature: 'x' },
      { clientDataJSON: Buffer.from('null').toString('base64url') },
    ])
      expect((await send({ ...answer, response: { ...response, ...change } })).status).toBe(401)
    expect(service.bugs).toEqual([])
  })

  test('with a body that is checked as what it is, whatever else it has', async () => {
    const maria = await joined(service, agency, 'desk')
    const { secret } = await invite(service, agency, { role: 'desk' })
    const { options } = (await fromThePage(service, '/portal/links', { link: secret })).body
    const { passkey: made } = makePasskey(options)
    const answered = answerWith(maria.device, await signInOptions(service))
    const faultsOf = async (body: unknown) => {
      const { status, body: problem } = await fromThePage(service, '/portal/session', body)
      expect(status).toBe(400)
      return problem.errors.map(({ field }: { field: string }) => field).sort()
    }
    expect(await faultsOf({ link: secret, passkey: null })).toEqual(['name', 'passkey'])
    expect(await faultsOf({ link: secret, passkey: answered, name: 'x'.repeat(60_000) })).toEqual([
      'name',
      'passkey.response.attestationObject',
    ])
    const odd = { ...made, response: { ...made.response, transports: 'x' } }
    expect(await faultsOf({ link: secret, passkey: odd, name: 'x' })).toEqual(['passkey.response.transports'])
    expect(await faultsOf({ link: 1, passkey: answered })).toEqual([
      'link',
      'name',
      'passkey.response.attestationObject',
    ])
    expect(await faultsOf({ token: 1, passkey: answered })).toEqual(['token'])
    expect(await faultsOf({ passkey: {} })).toEqual(['passkey.id', 'passkey.rawId', 'passkey.response', 'passkey.type'])
    for (const body of [[], {}, 'x', null]) {
      const { title } = (await fromThePage(service, '/portal/session', body)).body
      expect(title).toBe('body must be an object with a token, a passkey or a link')
    }
    expect(service.bugs).toEqual([])
    expect((await fromThePage(service, '/portal/session', { link: secret, passkey: made, name: 'x' })).status).toBe(200)
  })

  test('from the page only', async () => {
    for (const path of ['/portal/session', '/portal/links', '/portal/sign-in/options']) {
      const answer = await fromThePage(service, path, { link: 'x' }, { 'x-nightledger-page': '0' })
      expect([answer.status, answer.body.code]).toEqual([403, 'CROSS_ORIGIN'])
    }
  })
})

test('wrong passkeys are counted for the person whom they claim, and use up nothing of theirs or of the agency', async () => {
  const claims: (string | null)[] = []
  let isFlooding = false
  const requestsPerMinute = 20
  const limited = await startTestService({
    requestsPerMinute,
    throttledSignIn: (_, claim) => {
      claims.push(claim)
      return null
    },
    isFlooding: () => isFlooding,
  })
  const own = await limited.agency()
  const maria = await joined(limited, own, 'desk')
  const options = await signInOptions(limited)
  const { userHandle } = maria.device
  const [short, nobody] = [Buffer.alloc(31), Buffer.alloc(32)].map((bytes) => bytes.toString('base64url'))
  const wrong = (handle: string) => {
    const passkey = answerWith(maria.device, options, { flags: 0x01, userHandle: handle })
    return fromThePage(limited, '/portal/session', { passkey })
  }
  for (let n = 0; n < requestsPerMinute + 2; n++) expect((await wrong(userHandle)).status).toBe(401)
  expect((await signInWith(limited, maria.device)).status).toBe(200)
  claims.length = 0
  for (const handle of [userHandle, `${userHandle}=`, `!${userHandle}`, short, nobody]) await wrong(handle ?? '')
  const { id } = maria.person
  expect(claims).toEqual([id, id, id, null, idOf('per', '0'.repeat(32))])

  // From an address that has sent many, they have nothing read.
  isFlooding = true
  const reading = spyOn(limited.ledger.lists, 'read')
  expect((await wrong(userHandle)).status).toBe(401)
  expect(reading).not.toHaveBeenCalled()
  reading.mockRestore()
  await limited.close()
})

describe('the passkeys of one’s own', () => {
  const OF_MINE = '/me/passkeys'
  const optionsOf = async (person: Joined) => (await as(person, `${OF_MINE}/options`, undefined, 'POST')).body.options
  const add = async (person: Joined, name: string) => {
    const { device, passkey } = makePasskey(await optionsOf(person))
    return { device, answer: await as(person, OF_MINE, { name, passkey }) }
  }

  test('are added, named, used and removed; the last one stays', async () => {
    const maria = await joined(service, agency, 'viewer')
    const { device, answer } = await add(maria, 'phone')
    expect(answer.status).toBe(201)
    const { id } = answer.body.passkey
    expect((await signInWith(service, device)).body.actor.id).toBe(maria.person.id)
    const { passkeys } = (await as(maria, OF_MINE)).body
    expect(
      passkeys.map(({ name, lastUsedAt }: { name: string; lastUsedAt: string | null }) => [name, lastUsedAt !== null]),
    ).toEqual([
      ['laptop', true],
      ['phone', true],
    ])
    expect((await optionsOf(maria)).excludeCredentials).toHaveLength(2)
    expect((await as(maria, `${OF_MINE}/${id}`, { name: 'old phone' }, 'PATCH')).body.passkey.name).toBe('old phone')
    expect((await as(maria, `${OF_MINE}/${id}`, undefined, 'DELETE')).status).toBe(200)
    expect((await signInWith(service, device)).status).toBe(401)
    expect((await as(maria, `${OF_MINE}/${id}`, undefined, 'DELETE')).status).toBe(404)
    const last = await as(maria, `${OF_MINE}/${passkeys[0].id}`, undefined, 'DELETE')
    expect([last.status, last.body.code]).toEqual([409, 'LAST_PASSKEY'])
  })

  test('one of two stays when both are removed at once', async () => {
    const maria = await joined(service, agency, 'viewer')
    await add(maria, 'phone')
    const { passkeys } = (await as(maria, OF_MINE)).body as { passkeys: { id: string }[] }
    const both = await Promise.all(passkeys.map(({ id }) => as(maria, `${OF_MINE}/${id}`, undefined, 'DELETE')))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('are at most 20, also when many are added at once', async () => {
    const maria = await joined(service, agency, 'viewer')
    const many = await Promise.all(
      Array.from({ length: PASSKEYS_PER_PERSON_MAX + 3 }, (_, n) => add(maria, `key ${n}`)),
    )
    const statuses = many.map(({ answer }) => answer.status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(PASSKEYS_PER_PERSON_MAX - 1)
    expect(statuses.filter((status) => status === 400)).toHaveLength(4)
  })

  test('are made with the options of the same person, on this page, and only once', async () => {
    const [maria, rui] = [await joined(service, agency, 'desk'), await joined(service, agency, 'desk')]
    const [ofMaria, ofRui] = [await optionsOf(maria), await optionsOf(rui)]
    const good = makePasskey(ofMaria).passkey
    const wrong = [
      makePasskey(ofRui).passkey,
      makePasskey(ofMaria, { origin: 'https://evil.example' }).passkey,
      makePasskey({ ...ofMaria, rp: { id: 'evil.example', name: '' } }).passkey,
      makePasskey(ofMaria, { flags: 0x01 }).passkey,
      { ...good, response: { ...good.response, attestationObject: 'x' } },
    ]
    for (const passkey of wrong) {
      const { status, body } = await as(maria, OF_MINE, { name: 'x', passkey })
      expect([status, body.errors[0].field]).toEqual([400, 'passkey'])
    }
    expect((await as(maria, OF_MINE, { name: 'x', passkey: good })).status).toBe(201)
    expect((await as(maria, OF_MINE, { name: 'x', passkey: good })).status).toBe(400)
    shiftMs = 5 * MINUTE_MS + 1_000
    expect((await as(rui, OF_MINE, { name: 'x', passkey: makePasskey(ofRui).passkey })).status).toBe(400)
    shiftMs = 0
  })

  test('are nobody else’s: not another person’s, a token’s or the operator’s', async () => {
    const [maria, rui] = [await joined(service, agency, 'owner'), await joined(service, agency, 'owner')]
    const { answer } = await add(maria, 'phone')
    const path = `${OF_MINE}/${answer.body.passkey.id}`
    for (const [method, json] of [
      ['PATCH', { name: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      expect((await as(rui, path, json, method)).status).toBe(404)
      const { secret } = await service.accessToken(agency, 'owner')
      for (const token of [secret, TEST_PORTAL_TOKEN]) {
        const refused = await service.ask(path, json, { method, token })
        expect([refused.status, refused.body.code]).toEqual([403, 'PEOPLE_ONLY'])
      }
    }
  })
})

describe('the sessions of one’s own', () => {
  const SESSIONS = '/me/sessions'
  const idsOf = (body: { sessions: { id: string }[] }) => body.sessions.map(({ id }) => id)

  test('are listed with their device and place, and end one by one or all but this one', async () => {
    const maria = await joined(service, agency, 'viewer')
    const rui = await joined(service, agency, 'viewer')
    const phone = await signInWith(service, maria.device, {}, { 'user-agent': 'Phone '.repeat(100) })
    const tablet = await signInWith(service, maria.device, {}, { 'user-agent': 'Tablet' })
    const { sessions } = (await as(maria, SESSIONS)).body
    expect(sessions).toHaveLength(3)
    const find = (device: string) => sessions.find((session: { device: string }) => session.device.startsWith(device))
    expect(find('Phone').device).toHaveLength(200)
    expect([find('Tablet').place, find('Tablet').isThis]).toEqual(['this machine', false])
    expect(sessions.filter(({ isThis }: { isThis: boolean }) => isThis)).toHaveLength(1)
    expect(JSON.stringify(sessions)).not.toContain(maria.cookie.split('=')[1] ?? 'x')

    expect((await as(rui, `${SESSIONS}/${find('Phone').id}`, undefined, 'DELETE')).status).toBe(404)
    const ended = await as(maria, `${SESSIONS}/${find('Phone').id}`, undefined, 'DELETE')
    expect(idsOf(ended.body)).not.toContain(find('Phone').id)
    expect([await me({ cookie: cookieOf(phone) }), await me({ cookie: cookieOf(tablet) })]).toEqual([401, 200])
    expect(idsOf((await as(maria, SESSIONS, undefined, 'DELETE')).body)).toHaveLength(1)
    expect([await me({ cookie: cookieOf(tablet) }), await me(maria), await me(rui)]).toEqual([401, 200, 200])
    const [row] = await service.ledger.sql<{ count: number }[]>`
      select count(*)::int from portal_session where person_id = ${uuidOf(maria.person.id)}`
    expect(row?.count).toBe(1)
    const routes = (await service.get(`/agencies/${agency.slug}/audit?person=${maria.person.id}`)).body.audit
    expect(routes.map(({ route }: { route: string }) => route)).toContain('DELETE /portal/v1/me/sessions')
  })

  test('of a token are those of this token; of the operator all of the operator’s', async () => {
    const [own, other] = [await service.accessToken(agency, 'viewer'), await service.accessToken(agency, 'viewer')]
    const [first, second] = [await signIn(service.url, own.secret), await signIn(service.url, other.secret)]
    const { sessions } = (await as(first, SESSIONS)).body
    expect(sessions).toHaveLength(1)
    expect((await as(second, `${SESSIONS}/${sessions[0].id}`, undefined, 'DELETE')).status).toBe(404)
    const operators = [
      await signIn(service.url, TEST_PORTAL_TOKEN),
      await signIn(service.url, TEST_PORTAL_TOKEN),
    ] as const
    expect((await as(operators[0], SESSIONS)).body.sessions).toHaveLength(2)
    expect((await as(operators[0], SESSIONS, undefined, 'DELETE')).body.sessions).toHaveLength(1)
    expect([await me(operators[0]), await me(operators[1])]).toEqual([200, 401])
    await eventually('nothing is left to write', async () => (await me(first)) === 200)
  })
})
