/** Mail through a real SMTP server. */
import { afterEach, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { type InvitationMail, InvitationMails, MAILS_PER_HOUR_MAX } from '../../src/accounts/invitation-mails.ts'
import { type MailFailure, type MailServer, SmtpMailer } from '../../src/accounts/smtp-mailer.ts'
import { readConfig } from '../../src/app/config.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { freePort } from '../support/free-port.ts'
import { openSmtpInbox, type SmtpInbox } from '../support/smtp-inbox.ts'
import { TestAuthority } from '../support/test-authority.ts'

const SECRET = 'hl_very-secret'
const INVITATION: InvitationMail = {
  agency: { id: 'agc_1', name: 'Müller & Söhne', timezone: 'Europe/Lisbon' },
  to: 'ana@example.com',
  name: 'Ana Ünal',
  link: `https://desk.example/portal/#/join/${SECRET}${'x'.repeat(80)}`,
  expiresAt: Date.UTC(2027, 6, 4, 22, 30),
}
const FROM = Object.freeze({ name: 'Desk', address: 'desk@rentals.example' })

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

async function inbox(options: Parameters<typeof openSmtpInbox>[0] = {}): Promise<SmtpInbox> {
  const opened = await openSmtpInbox(options)
  open.push(opened)
  return opened
}

/** Sends as the service does. */
async function sent(
  server: Partial<MailServer> & { port: number },
  {
    invitation = INVITATION,
    ...options
  }: { invitation?: InvitationMail; deadlineMs?: number; trustedCa?: string } = {},
) {
  const failures: MailFailure[] = []
  const mailer = new SmtpMailer({
    server: { host: '127.0.0.1', security: 'none', login: null, ...server },
    from: FROM,
    onFailure: (failure) => failures.push(failure),
    ...options,
  })
  return { isSent: await new InvitationMails({ mailer, clock: systemClock }).send(invitation), failures }
}

describe('an invitation', () => {
  test('arrives with what the person needs: who invites whom, the link, and its end in the time zone of the agency', async () => {
    const { port, mails } = await inbox()
    expect(await sent({ port })).toEqual({ isSent: true, failures: [] })
    expect(mails.map(({ from, to }) => [from, to])).toEqual([[FROM.address, ['ana@example.com']]])
    const [mail] = mails
    expect(mail?.headers).toContain('From: Desk <desk@rentals.example>')
    expect(mail?.headers).toContain('To: ana@example.com')
    expect(mail?.headers).toContain('Auto-Submitted: auto-generated')
    expect(mail?.headers.join()).not.toContain(SECRET)
    expect(mail?.text).toContain('Hello Ana Ünal,')
    expect(mail?.text).toContain('invited to work with the bookings of Müller & Söhne.')
    expect(mail?.text.split('\n')).toContain(INVITATION.link)
    expect(mail?.text).toMatch(/until Sunday,? 4 July 2027 at 23:30 \(Europe\/Lisbon\)/)
  })

  test('is for one address and has the headers of the service, whatever the names and the address contain', async () => {
    const { port, mails } = await inbox()
    const evil = 'x\r\nBcc: eve@example.com\r\n\r\nbody\u2028<a@b.c>, eve@example.com'
    const invitation = {
      ...INVITATION,
      agency: { ...INVITATION.agency, name: evil },
      name: evil,
    }
    expect((await sent({ port }, { invitation })).isSent).toBe(true)
    expect(mails.map(({ to }) => to)).toEqual([['ana@example.com']])
    const names = mails[0]?.headers.map((header) => header.split(':')[0]?.toLowerCase())
    expect(names?.toSorted()).toEqual([
      ...['auto-submitted', 'content-transfer-encoding', 'content-type', 'date', 'from', 'message-id'],
      ...['mime-version', 'subject', 'to'],
    ])
    expect(mails[0]?.text.split('\n')[0]).toStartWith('Hello x Bcc: eve@example.com body')

    for (const email of ['ana@example.com, eve@example.com', 'ana@example.com>\r\nRCPT TO:<eve@example.com', 'a b@c.d'])
      await sent({ port }, { invitation: { ...INVITATION, to: email } })
    expect(mails.flatMap(({ to }) => to).join(' ')).not.toContain('eve@')
  })
})

test('whatever a name or an address contains, the mail is sent or reported, and nothing is thrown', async () => {
  const { port } = await inbox()
  const strange = [
    '\ud800',
    'a\udfffb'.repeat(40),
    '\u0000',
    '=?utf-8?B?gA==?=',
    '👩‍👩‍👧'.repeat(50),
    '\u202eevil',
    '"',
    '<',
    '',
  ]
  for (const name of strange) {
    const agency = { ...INVITATION.agency, name }
    expect(await sent({ port }, { invitation: { ...INVITATION, name, agency } })).toEqual({
      isSent: true,
      failures: [],
    })
  }
  const addresses = [
    'a@xn--0.xn--0',
    'a@xn--a.example',
    "!#$%&'*+/=?^_`{|}~-@a-.b",
    `a@${'b'.repeat(240)}.c`,
    '\ud800@x.y',
    'a@\ud800.b',
    '@',
    '',
  ]
  for (const to of addresses) {
    const { isSent, failures } = await sent({ port }, { invitation: { ...INVITATION, to } })
    expect(failures.length).toBe(isSent ? 0 : 1)
  }
})

describe('a mail that the server does not take', () => {
  test.each([
    ['when it refuses the address', { onRcptTo: refuse(550) }, { code: 'EENVELOPE', status: 550 }],
    ['when it refuses the sender', { onMailFrom: refuse(553) }, { code: 'EENVELOPE', status: 553 }],
    ['when it wants a login', { takesLogin: true, allowInsecureAuth: true }, { code: 'EENVELOPE', status: 530 }],
  ])('is reported without address or text %s', async (_, options, failure) => {
    const { port } = await inbox(options)
    expect(await sent({ port })).toEqual({ isSent: false, failures: [failure] })
  })

  test('is reported when the password is wrong, without the password', async () => {
    const { port } = await inbox({ takesLogin: true, allowInsecureAuth: true })
    const { isSent, failures } = await sent({ port, login: { user: 'desk', password: 'hunter2' } })
    expect(isSent).toBe(false)
    expect(failures).toEqual([{ code: 'EAUTH', status: 535 }])
  })

  test('is reported when there is no server', async () => {
    const { isSent, failures } = await sent({ port: await freePort() })
    expect([isSent, failures.length, failures[0]?.status]).toEqual([false, 1, null])
    expect(failures[0]?.code).toMatch(/^E[A-Z]+$/)
  })

  test('is given up at the deadline when the server says nothing', async () => {
    const silent = createServer(() => {})
    open.push(silent)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const address = silent.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const { isSent, failures } = await sent({ port }, { deadlineMs: 200 })
    expect([isSent, failures.length, failures[0]?.status]).toEqual([false, 1, null])
  })

  test('is not sent to a server that is already busy with 16', async () => {
    const release = Promise.withResolvers<void>()
    const { port, mails } = await inbox({ onConnect: (_, callback) => void release.promise.then(() => callback()) })
    const failures: MailFailure[] = []
    const server = { host: '127.0.0.1', port, security: 'none', login: null } as const
    const mailer = new SmtpMailer({ server, from: FROM, onFailure: (failure) => failures.push(failure) })
    const mail = { to: 'ana@example.com', subject: 'x', text: 'x' }
    const waiting = Array.from({ length: 16 }, () => mailer.send(mail))
    expect(await mailer.send(mail)).toBe(false)
    expect(failures).toEqual([{ code: 'TOO_MANY', status: null }])
    release.resolve()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]))
    expect([mails.length, await mailer.send(mail)]).toEqual([16, true])
  })
})

describe('a connection', () => {
  test('with smtps:// is encrypted from the start, and the login is sent', async () => {
    const authority = await TestAuthority.create()
    const { port, mails } = await inbox({
      ...(await authority.issue({ addresses: ['127.0.0.1'] })),
      secure: true,
      takesLogin: true,
    })
    const { mail } = readConfig({
      SMTP_URL: `smtps://desk:p%40ss%3Aword@127.0.0.1:${port}`,
      MAIL_FROM: 'a@b.example',
    }).signIn
    expect(mail).not.toBeNull()
    expect(await sent({ port, ...mail?.server }, { trustedCa: authority.pem })).toEqual({ isSent: true, failures: [] })
    expect(mails[0]).toMatchObject({ login: 'desk', isEncrypted: true })
  })

  test('to a server that cannot prove its name gets neither login nor mail', async () => {
    const [trusted, other] = [await TestAuthority.create(), await TestAuthority.create()]
    const { port, mails } = await inbox({ ...(await other.issue({ addresses: ['127.0.0.1'] })), secure: true })
    const { isSent } = await sent({ port, security: 'tls' }, { trustedCa: trusted.pem })
    expect([isSent, mails]).toEqual([false, []])
  })

  test('with smtp:// upgrades to TLS, and is given up where the server offers none', async () => {
    const authority = await TestAuthority.create()
    const withTls = await inbox(await authority.issue({ addresses: ['127.0.0.1'] }))
    const starttls = { security: 'starttls' } as const
    expect((await sent({ port: withTls.port, ...starttls }, { trustedCa: authority.pem })).isSent).toBe(true)
    expect(withTls.mails[0]?.isEncrypted).toBe(true)
    const plain = await inbox()
    expect(await sent({ port: plain.port, ...starttls })).toEqual({ isSent: false, failures: [expect.anything()] })
    expect(plain.mails).toEqual([])
  })
})

describe('of an agency', () => {
  const mailer = { send: async () => true }
  const send = (mails: InvitationMails, id: string) =>
    mails.send({ ...INVITATION, agency: { ...INVITATION.agency, id } })

  test('a limited number of invitations is mailed in an hour, whatever others send', async () => {
    const clock = new FakeClock()
    const mails = new InvitationMails({ mailer, clock })
    for (let i = 0; i < MAILS_PER_HOUR_MAX; i += 1) expect(await send(mails, 'agc_1')).toBe(true)
    expect([await send(mails, 'agc_1'), await send(mails, 'agc_2')]).toEqual([false, true])
    await clock.advance(3_600_000)
    expect(await send(mails, 'agc_1')).toBe(true)
  })

  test('nothing is mailed without a mail server', async () => {
    expect(await send(new InvitationMails({ mailer: null, clock: systemClock }), 'agc_1')).toBe(false)
  })
})

function refuse(responseCode: number) {
  return ({ address }: { address: string }, _: unknown, callback: (error: Error) => void) =>
    callback(Object.assign(new Error(`No such mailbox: ${address}`), { responseCode }))
}
