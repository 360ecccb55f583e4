import { afterEach, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseWorld } from '../../../src/app/checks/check.ts'
import { type Machine, thisMachine } from '../../../src/app/checks/machine.ts'
import { type CheckFinding, runChecks } from '../../../src/app/checks/run-checks.ts'
import { serverSettings } from '../../../src/app/checks/server-settings.ts'
import { freePort } from '../../support/free-port.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { openSmtpInbox } from '../../support/smtp-inbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/*
 * The checks that need no database: without DATABASE_URL, those of the database are not made.
 */

const folders = temporaryFolder('doctor')
const servers: { stop(isAtOnce: boolean): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.stop(true)
})

async function findingOf(
  check: string,
  env: Record<string, string>,
  machine: Partial<Machine> = {},
): Promise<Pick<CheckFinding, 'severity' | 'found'>> {
  const dataDir = mkdtempSync(join(folders, 'data-'))
  const findings = await runChecks(
    { DATA_DIR: dataDir, PORT: '0', ...env },
    { machine: { ...thisMachine, ...machine } },
  )
  const [finding, ...more] = findings.filter((one) => one.check === check)
  expect(more).toEqual([])
  if (finding === undefined) throw new Error(`No finding of ${check}`)
  return { severity: finding.severity, found: finding.found }
}

/** @returns its port */
function answering(answer: (path: string) => Response | Promise<Response>): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: ({ url }) => answer(new URL(url).pathname) })
  servers.push(server)
  return server.port ?? 0
}

test('with an invalid configuration, its faults are all that is found', async () => {
  const findings = await runChecks({ PORT: 'http', DATABSE_URL: 'x' })
  expect(
    findings
      .filter(({ severity }) => severity !== 'skipped')
      .map(({ check, severity, found }) => [check, severity, found]),
  ).toEqual([
    ['configuration', 'error', 'PORT is "http": use a whole number from 0 to 65535.'],
    ['configuration', 'error', expect.stringContaining('did you mean DATABASE_URL?')],
  ])
})

test('without DATABASE_URL, the checks of the database say that they were not made', async () => {
  const findings = await runChecks({ DATA_DIR: mkdtempSync(join(folders, 'data-')), PORT: '0' })
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  expect(findings.filter(({ found }) => found.startsWith('DATABASE_URL is not set')).map(({ check }) => check)).toEqual(
    [
      ...['database', 'server-settings', 'connections', 'clock', 'standbys', 'schema', 'role', 'secret-key', 'months'],
      ...['writer', 'webhooks'],
    ],
  )
})

describe('the service', () => {
  const at = (port: number) => findingOf('service', { PORT: String(port) })
  const readyz = (status: number, body: object | string) =>
    answering((path) =>
      path === '/readyz'
        ? new Response(typeof body === 'string' ? body : JSON.stringify(body), { status })
        : new Response(null, { status: 404 }),
    )

  test.each([
    ['is ready', 200, { status: 'ready', faults: [] }, 'ok', 'takes bookings.'],
    [
      'is a standby',
      503,
      { status: 'not ready', faults: ['standby: another process is the writer'] },
      'ok',
      'is a standby',
    ],
    ['is starting', 503, { status: 'not ready', faults: ['starting'] }, 'warning', 'is starting.'],
    [
      'has lost the database',
      503,
      { status: 'not ready', faults: ['database: not responding'] },
      'error',
      'takes no bookings: database: not responding.',
    ],
    ['is another program', 200, { status: 'ok' }, 'error', 'Another program listens'],
    ['is a web server', 404, '<html>', 'error', 'Another program listens'],
  ])('%s', async (_, status, body, severity, found) => {
    expect(await at(readyz(status, body))).toEqual({ severity, found: expect.stringContaining(found) } as never)
  })

  test('whose database takes no writes is not to be restarted: it still answers reads, and a start would wait', async () => {
    const port = readyz(503, { status: 'not ready', faults: ['journal: a batch has been in flight for 4452 ms'] })
    const findings = await runChecks({ DATA_DIR: mkdtempSync(join(folders, 'data-')), PORT: String(port) })
    expect(findings.find(({ check }) => check === 'service')?.fix).toStartWith('Do not restart it.')
  })

  test('does not run', async () => {
    expect(await at(freePort())).toEqual({
      severity: 'warning',
      found: expect.stringContaining('No service answers at http://127.0.0.1:'),
    })
  })

  test('is a program that does not speak HTTP', async () => {
    const socket = { open: (one: { end(text: string): void }) => one.end('SSH-2.0-x\r\n'), data: () => {} }
    const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket })
    servers.push(server)
    expect(await at(server.port)).toEqual({
      severity: 'error',
      found: expect.stringMatching(/^Cannot query .*, or it is unreachable: /),
    })
  })

  test('hangs', async () => {
    const found = await at(answering(() => new Promise(() => {})))
    expect(found).toEqual({ severity: 'error', found: expect.stringContaining('has not answered within 3 s') })
  })

  test('is asked at ADMIN_PORT, if there is one', async () => {
    const port = readyz(200, { status: 'ready', faults: [] })
    expect(await findingOf('service', { ADMIN_PORT: String(port) })).toMatchObject({ severity: 'ok' })
  })
})

describe('PUBLIC_URL', () => {
  test('is needed in production', async () => {
    expect(await findingOf('public-url', { NODE_ENV: 'production' })).toMatchObject({ severity: 'warning' })
    expect(await findingOf('public-url', {})).toMatchObject({ severity: 'skipped' })
  })

  test('leads to the service, to something else, or nowhere', async () => {
    const port = answering((path) => new Response('{}', { status: path === '/partner/v1/openapi.json' ? 200 : 404 }))
    const broken = answering(() => new Response('Bad Gateway', { status: 502 }))
    const of = (port: number) => findingOf('public-url', { PUBLIC_URL: `http://localhost:${port}` })
    expect(await of(port)).toEqual({ severity: 'ok', found: `http://localhost:${port} leads to the service.` })
    expect(await of(broken)).toEqual({ severity: 'warning', found: expect.stringContaining('answers 502') })
    expect(await of(freePort())).toEqual({
      severity: 'warning',
      found: expect.stringContaining('cannot be reached from here'),
    })
  })
})

test('the provider that people sign in with answers, names another issuer, is away, or hangs', async () => {
  const provider = await startIdentityProvider({ redirectUri: 'http://localhost:3000/portal/oidc/callback' })
  const of = (issuer: string) =>
    findingOf('sign-in-provider', { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'desk', OIDC_CLIENT_SECRET: 's' })
  expect(await of(provider.issuer)).toMatchObject({ severity: 'ok' })
  const other = answering(() =>
    Response.json({ issuer: 'https://login.example', jwks_uri: 'https://login.example/jwks' }),
  )
  expect(await of(`http://127.0.0.1:${other}`)).toMatchObject({ severity: 'error' })
  await provider.goAway()
  const mute = `http://127.0.0.1:${answering(() => new Promise(() => {}))}`
  for (const issuer of [provider.issuer, mute])
    expect(await of(issuer)).toEqual({
      severity: 'error',
      found: expect.stringContaining(`Nobody can sign in with the provider at ${issuer}`),
    })
})

test('the mail server accepts the login, refuses it, or is away; no mail is sent', async () => {
  const inbox = await openSmtpInbox({ takesLogin: true })
  const of = (login: string, port = inbox.port) =>
    findingOf('mail-server', { SMTP_URL: `smtp://${login}@127.0.0.1:${port}`, MAIL_FROM: 'desk@example.com' })
  expect(await of('desk:p%40ss%3Aword')).toEqual({
    severity: 'ok',
    found: `The mail server 127.0.0.1:${inbox.port} accepts the login.`,
  })
  const refused = await of('desk:hunter2')
  expect(refused).toEqual({ severity: 'error', found: expect.stringContaining('EAUTH 535') })
  expect(refused.found).not.toContain('hunter2')
  expect(await of('desk:p', freePort())).toEqual({ severity: 'error', found: expect.stringContaining('ESOCKET') })
  expect(inbox.mails).toEqual([])
  await inbox.close()
})

test('of the members of etcd, all answer, or some, or none', async () => {
  const member = () =>
    answering((path) =>
      path === '/v3/kv/range' ? Response.json({ header: { revision: '1' } }) : new Response(null, { status: 404 }),
    )
  // What a node needs; nothing listens at its database, which is no matter here.
  const node = { NODE_ID: 'a', NODE_URL: 'http://127.0.0.1:3000', CLUSTER_SECRET: 'c'.repeat(32) }
  const secrets = { PORTAL_TOKEN: 't'.repeat(32), SECRET_KEY: '0f'.repeat(32) }
  const of = (...ports: number[]) =>
    findingOf('etcd', {
      ...node,
      ...secrets,
      DATABASE_URL: `postgres://u:p@127.0.0.1:${freePort()}/n`,
      CLUSTER_ETCD: `http://${ports.map((port) => `127.0.0.1:${port}`).join()}`,
    })
  expect(await of(member(), member())).toEqual({ severity: 'ok', found: 'All 2 members of etcd answer.' })
  expect(await of(member(), freePort())).toEqual({
    severity: 'warning',
    found: expect.stringContaining('A member of etcd does not answer'),
  })
  expect(await of(freePort(), freePort())).toEqual({
    severity: 'error',
    found: expect.stringContaining('No member of etcd answers'),
  })
})

describe('the files of the service', () => {
  const folderWith = (files: Record<string, string>): string => {
    const folder = mkdtempSync(join(folders, 'files-'))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
    return folder
  }
  const TOKEN = 't'.repeat(40)
  const KEY = '0f'.repeat(32)

  test('are as they should be, and stay so: nothing is made', async () => {
    const [empty, used] = [folderWith({}), folderWith({ 'portal-token': TOKEN, 'secret-key': KEY })]
    for (const folder of [empty, used])
      expect(await findingOf('files', { DATA_DIR: folder })).toMatchObject({ severity: 'ok' })
    expect(await findingOf('files', { DATA_DIR: join(empty, 'later/data') })).toMatchObject({ severity: 'ok' })
    expect(readdirSync(empty)).toEqual([])
    expect(readdirSync(used)).toHaveLength(2)
  })

  test('can be read by others', async () => {
    const folder = folderWith({ 'portal-token': TOKEN, 'secret-key': KEY })
    chmodSync(join(folder, 'secret-key'), 0o644)
    expect(await findingOf('files', { DATA_DIR: folder })).toEqual({
      severity: 'error',
      found: `Other users of this machine can read ${join(folder, 'secret-key')}, which is a secret.`,
    })
  })

  test('are damaged', async () => {
    const folder = folderWith({ 'portal-token': TOKEN, 'secret-key': 'short' })
    expect(await findingOf('files', { DATA_DIR: folder })).toEqual({
      severity: 'error',
      found: expect.stringContaining('Cannot read the secret key'),
    })
  })

  test('have little room, or none', async () => {
    const left = (freeBytes: number) =>
      findingOf(
        'files',
        { ERASURES_FILE: join(folders, 'erasures.ndjson') },
        { disk: (path) => (path === folders ? { freeBytes, bytes: 100e9 } : null) },
      )
    expect(await left(50e9)).toMatchObject({ severity: 'ok' })
    expect(await left(5e9)).toEqual({
      severity: 'warning',
      found: expect.stringContaining('has 4768 MB free (5 %).'),
    })
    expect(await left(1e8)).toMatchObject({ severity: 'error' })
  })

  test('are where a folder should be', async () => {
    const file = join(folderWith({ file: '' }), 'file')
    expect(await findingOf('files', { DATA_DIR: file })).toEqual({
      severity: 'error',
      found: `DATA_DIR needs a folder at ${file}, which is a file.`,
    })
    expect(await findingOf('files', { ERASURES_FILE: join(file, 'erasures') })).toMatchObject({ severity: 'error' })
    expect(await findingOf('files', { ERASURES_FILE: file })).toMatchObject({ severity: 'ok' })
  })

  // Root may write everywhere.
  test.skipIf(process.getuid?.() === 0)('cannot be written', async () => {
    const folder = folderWith({})
    chmodSync(folder, 0o500)
    expect(await findingOf('files', { DATA_DIR: folder })).toMatchObject({ severity: 'error' })
  })

  test('are none for a service with a database elsewhere', async () => {
    const secrets = { PORTAL_TOKEN: TOKEN, SECRET_KEY: KEY }
    const url = `postgres://u:p@127.0.0.1:${freePort()}/n`
    expect(await findingOf('files', { ...secrets, DATABASE_URL: url })).toMatchObject({ severity: 'skipped' })
    expect(await findingOf('files', { ...secrets, DATABASE_URL: url, WORKERS: '2' })).toMatchObject({ severity: 'ok' })
  })
})

test('a server that keeps data less safely than it could', async () => {
  const settings = (row: object) => serverSettings.run({ sql: async () => [row] } as unknown as DatabaseWorld)
  const good = { pages: 'on', checksums: 'on', autovacuum: 'on' }
  expect(await settings(good)).toMatchObject([{ severity: 'ok' }])
  expect(
    (await settings({ pages: 'off', checksums: 'off', autovacuum: 'off' })).map(({ severity, found }) => [
      severity,
      found.split(':')[0],
    ]),
  ).toEqual([
    ['warning', 'The setting full_page_writes is off'],
    ['warning', 'The server has no data checksums'],
    ['warning', 'The setting autovacuum is off'],
  ])
})
