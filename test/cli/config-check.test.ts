import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { VARIABLES } from '../../src/app/config.ts'
import { cliWith } from '../support/cli-terminal.ts'

const TOKEN = 'portal-token-0123456789abcdef-0123456789'
const KEY = '0f'.repeat(32)
const ENV = {
  DATABASE_URL: 'postgres://app:hunter2@db1:5432,db2:5432/nightledger?sslmode=require',
  PORTAL_TOKEN: TOKEN,
  SECRET_KEY: KEY,
}

const check = (env: Record<string, string>, ...args: string[]) => cliWith(env)('config', 'check', ...args)
const sha = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex').slice(0, 8)}`

async function valuesOf(env: Record<string, string>): Promise<Record<string, string | null>> {
  const { json } = await check(env, '--json')
  return Object.fromEntries(json.settings.map(({ name, value }: { name: string; value: string }) => [name, value]))
}

test('shows every setting with its value and where it comes from', async () => {
  const { code, json, stderr } = await check({ ...ENV, PORT: '8080' }, '--json')
  expect([code, stderr, json.faults]).toEqual([0, '', []])
  expect(json.settings.map(({ name }: { name: string }) => name)).toEqual(VARIABLES)
  for (const setting of [
    { name: 'PORT', value: '8080', source: 'environment' },
    { name: 'LOG_LEVEL', value: 'info', source: 'default' },
    { name: 'MAILBOX_MAX', value: '256', source: 'default' },
    { name: 'PUBLIC_URL', value: 'http://localhost:8080', source: 'default' },
    { name: 'ADMIN_PORT', value: null, source: 'not set' },
  ])
    expect(json.settings).toContainEqual(setting)
  const { stdout } = await check({ ...ENV, PORT: '8080' })
  expect(stdout.split('\n')[0]).toMatch(/^NAME +VALUE +SOURCE$/)
  expect(stdout).toMatch(/^PORT +8080 +environment$/m)
  expect(stdout).toMatch(/^ADMIN_PORT +- +not set$/m)
})

test('tells secrets apart by a hash, and each of two while one is being changed', async () => {
  const other = TOKEN.replace('portal', 'latrop')
  expect(await valuesOf({ ...ENV, PORTAL_TOKEN: `${TOKEN},${other}` })).toMatchObject({
    PORTAL_TOKEN: `${sha(TOKEN)}, ${sha(other)}`,
    SECRET_KEY: sha(KEY),
  })
})

test.each([
  ['of a database', 'DATABASE_URL', 'postgres://app:hunter2@db1,db2:5433/n', 'postgres://app:***@db1,db2:5433/n'],
  ['with reserved characters', 'DATABASE_URL', 'postgres://app:hun@ter/2@db/n', 'postgres://app:***@db/n'],
  ['as a parameter', 'DATABASE_URL', 'postgres://app@db/n?password=hunter2', 'postgres://app@db/n?password=***'],
  ['of a mail server', 'SMTP_URL', 'smtps://me:hunter2@mail.example', 'smtps://me:***@mail.example'],
  ['of etcd', 'CLUSTER_ETCD', 'https://root:hunter2@a:2379,b:2379', 'https://root:***@a:2379,b:2379'],
  ['in something else than a URL', 'DATABASE_URL', 'hunter2', 'set'],
  ['that is short', 'OIDC_CLIENT_SECRET', 'hunter2', 'set'],
  ['of a collector, its key', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'https://hunter2@otlp:4318', 'https://otlp:4318'],
  ['of a collector, its path', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'https://otlp/hunter2', 'https://otlp/***'],
  ['of a collector, its query', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'https://otlp/?key=hunter2', 'https://otlp/***'],
  ['of a collector, its headers', 'OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20of-us-hunter2', 'set'],
  ['that looks like a URL', 'CLUSTER_SECRET', 'x://hunter2', 'set'],
])('hides a password %s, and shows no hash of it', async (_, name, text, shown) => {
  const { stdout, stderr } = await check({ [name]: text }, '--json')
  expect(stdout + stderr).not.toMatch(/hunter2|ter\/2/)
  expect((await valuesOf({ [name]: text }))[name]).toBe(shown)
})

test('shows how many workers `auto` comes to', async () => {
  expect((await valuesOf({ WORKERS: 'auto' }))['WORKERS']).toMatch(/^auto \(\d+ here\)$/)
})

test('with a fault the exit code is 1, and each fault says what would pass; the settings are shown all the same', async () => {
  const { code, stdout, stderr } = await check({ DATABSE_URL: ENV.DATABASE_URL, PORT: 'http' })
  expect(code).toBe(1)
  expect(stderr).toBe(
    'The service would not start with this environment: 2 faults.\n' +
      '- PORT is "http": use a whole number from 0 to 65535.\n' +
      '- DATABSE_URL is not a variable of nightledger: did you mean DATABASE_URL? Correct the name, or remove the variable.\n',
  )
  expect(stdout).toMatch(/^DATABASE_URL +- +not set$/m)
  const { code: again, json } = await check({ PORT: 'http' }, '--json')
  expect([again, json.faults]).toEqual([1, ['PORT is "http": use a whole number from 0 to 65535.']])
})
