import { describe, expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { ConfigError, LIMITS, readConfig } from '../../src/app/config.ts'
import { nodeOfWorker } from '../../src/cluster/cluster-config.ts'

const TOKEN = 'x'.repeat(32)
const KEY_HEX = '0f'.repeat(32)
const SERVER = { DATABASE_URL: 'postgres://u:hunter2@db:5432/n', PORTAL_TOKEN: TOKEN, SECRET_KEY: KEY_HEX }

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
  return []
}

describe('readConfig', () => {
  test('an empty environment gives the documented defaults', () => {
    expect(readConfig({})).toEqual({
      port: 3000,
      host: '127.0.0.1',
      databaseUrl: null,
      migrationDatabaseUrl: null,
      requireSynchronousStandby: false,
      dataDir: './data',
      admin: null,
      trustedProxies: [],
      portalTokens: null,
      publicUrl: null,
      secretKey: null,
      logLevel: 'info',
      environment: 'development',
      webhookAllowHosts: [],
      erasuresFile: null,
      signIn: { oidc: null, mail: null },
      workers: 1,
      workerPorts: false,
      cluster: null,
      traces: null,
      limits: {
        residentUnitsMax: 20_000,
        unitIdleMs: 600_000,
        mailboxMax: 256,
        journalWaitingMax: 8_192,
        journalBatchMax: 512,
        snapshotEvery: 64,
        queuedMsMax: 5_000,
        portalRequestsPerMinute: 3_000,
        retainBookingYears: 10,
        retainGuestMonths: 36,
        retainLogYears: 10,
        retainDeliveryDays: 90,
      },
    })
  })

  test('an empty variable counts as not set', () => {
    const names = ['PORT', 'DATABASE_URL', 'SECRET_KEY', 'WEBHOOK_ALLOW_HOSTS', 'DATA_DIR', 'MAILBOX_MAX']
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(readConfig({}))
  })

  test('the configuration cannot be changed', () => {
    const config = readConfig({
      WEBHOOK_ALLOW_HOSTS: 'localhost:9000',
      ADMIN_PORT: '1',
      PORTAL_TOKEN: TOKEN,
      TRUSTED_PROXIES: '::1',
    })
    const { admin, limits, portalTokens, trustedProxies, webhookAllowHosts } = config
    for (const part of [config, admin, limits, portalTokens, trustedProxies, webhookAllowHosts])
      expect(Object.isFrozen(part)).toBe(true)
  })

  test('one message names every bad variable and its accepted values', () => {
    const env = {
      PORT: '70000',
      ADMIN_PORT: '-1',
      ADMIN_HOST: 'a b',
      TRUSTED_PROXIES: 'proxy',
      HOST: 'a b',
      DATABASE_URL: 'mysql://u:hunter2@db/n',
      MIGRATION_DATABASE_URL: 'mysql://o:hunter2@db/n',
      PORTAL_TOKEN: 'hunter2',
      SECRET_KEY: 'hunter2',
      LOG_LEVEL: 'loud',
      NODE_ENV: 'prod',
      WEBHOOK_ALLOW_HOSTS: 'localhost',
      PUBLIC_URL: 'desk.example',
      OIDC_ISSUER: 'http://login.example',
      OIDC_CLIENT_ID: 'a b',
      OIDC_CLIENT_SECRET: 'hunter 2',
      OIDC_ONLY: 'yes',
      SMTP_URL: 'mail.example',
      MAIL_FROM: 'desk',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key',
      OTEL_SERVICE_NAME: 'x'.repeat(256),
      OTEL_TRACES_SAMPLER_ARG: '2',
      ...Object.fromEntries(Object.values(LIMITS).map(({ variable }) => [variable, '0'])),
    }
    const faults = faultsOf(env)
    expect(faults.map((fault) => fault.split(' ')[0] ?? '').sort()).toEqual(Object.keys(env).sort())
    for (const fault of faults) expect(fault).toContain(': use ')
    expect(new ConfigError(faults).message).toStartWith(
      `Cannot start: ${faults.length} environment variables are invalid.\n- `,
    )
  })

  test('the message contains no secret and no password of a URL', () => {
    const env = { DATABASE_URL: 'mysql://u:hunter2@db/n', PORTAL_TOKEN: 'hunter2', SECRET_KEY: 'hunter2' }
    expect(faultsOf(env)).toHaveLength(3)
    expect(faultsOf(env).join()).not.toContain('hunter2')
  })

  test('with DATABASE_URL both secrets are required', () => {
    expect(faultsOf(SERVER)).toEqual([])
    const { DATABASE_URL } = SERVER
    expect(faultsOf({ DATABASE_URL }).map((fault) => fault.split(':')[0])).toEqual([
      'PORTAL_TOKEN is required when DATABASE_URL is set',
      'SECRET_KEY is required when DATABASE_URL is set',
    ])
  })

  test('MIGRATION_DATABASE_URL has to name the database of DATABASE_URL, and its password is in no message', () => {
    const owner = (at: string) => ({ ...SERVER, MIGRATION_DATABASE_URL: `postgres://owner:hunter3@${at}` })
    expect(readConfig(owner('db/n')).migrationDatabaseUrl).toBe('postgres://owner:hunter3@db/n')
    expect(faultsOf(owner('db:5432/n?sslmode=require'))).toEqual([])
    for (const other of ['db/m', 'other/n', 'db:5433/n', 'db,other/n']) {
      const faults = faultsOf(owner(other))
      expect(faults).toHaveLength(1)
      expect(faults[0]).toStartWith('MIGRATION_DATABASE_URL names another server or database than DATABASE_URL: use ')
      expect(faults[0]).not.toContain('hunter')
    }
    expect(faultsOf({ MIGRATION_DATABASE_URL: 'postgres://owner:hunter3@db/n' })).toEqual([
      'MIGRATION_DATABASE_URL is set, but DATABASE_URL is not: use both, or remove MIGRATION_DATABASE_URL.',
    ])
  })

  test.each([
    [
      'DATABASE_URL',
      ['postgres://db/n', 'postgresql://u:p@db:1/n?sslmode=require'],
      ['db', 'postgres:', 'http://db/n'],
    ],
    ['PORTAL_TOKEN', [TOKEN, 'a-B_9~'.repeat(6)], ['x'.repeat(31), `${'x'.repeat(32)} y`, 'é'.repeat(40)]],
    ['ADMIN_PORT', ['0', '9090'], ['-1', '65536', '3000', 'no']],
    [
      'TRUSTED_PROXIES',
      ['127.0.0.1', '10.0.0.0/8, fd00::/8'],
      ['localhost', '10.0.0.0/8,', '0.0.0.0/0', '::/0', '10.0.0.0/33'],
    ],
    ['PORT', ['0', '80', '65535'], ['-1', '65536', '8e3', ' 80', '0x50', '80.0']],
    ['LOG_LEVEL', ['trace', 'silent'], ['INFO', 'warning']],
    ['NODE_ENV', ['production', 'test', 'development'], ['staging']],
    ['HOST', ['0.0.0.0', '::1', 'localhost'], ['http://x', 'a,b']],
    [
      'WEBHOOK_ALLOW_HOSTS',
      ['localhost:9000', 'A.test:1, [::1]:65535'],
      ['localhost', 'x:0', 'x:65536', 'x:1,', '::1:80'],
    ],
    ['HELD_MS_MAX', ['100', '25000'], ['99', '25001', '60000']],
    ['MAILBOX_MAX', ['1', '100000'], ['0', '100001', '1.5', 'many', '-3']],
  ])('%s: what passes and what does not', (name, good, bad) => {
    const others = name === 'DATABASE_URL' ? SERVER : {}
    for (const value of good) expect([value, faultsOf({ ...others, [name]: value })]).toEqual([value, []])
    for (const value of bad) expect([value, faultsOf({ ...others, [name]: value }).length]).toEqual([value, 1])
  })

  test('SECRET_KEY is 32 bytes, in hexadecimal or either base64', () => {
    const bytes = Uint8Array.from({ length: 32 }, (_, index) => 255 - index)
    const buffer = Buffer.from(bytes)
    for (const text of ['hex', 'base64', 'base64url'] as const) {
      expect(readConfig({ SECRET_KEY: buffer.toString(text) }).secretKey).toEqual(bytes)
    }
    for (const size of [31, 33]) {
      for (const text of ['hex', 'base64', 'base64url'] as const) {
        expect(faultsOf({ SECRET_KEY: Buffer.alloc(size, 7).toString(text) })).toHaveLength(1)
      }
    }
  })

  test('PORTAL_TOKEN is one token, or two separated by a comma', () => {
    const tokensOf = (text: string) => readConfig({ PORTAL_TOKEN: text }).portalTokens
    const [old, next] = [TOKEN, 'y'.repeat(40)]
    expect(tokensOf(old)).toEqual([old])
    expect(tokensOf(`${old},${next}`)).toEqual([old, next])
    for (const text of [`${old},${next},${old}`, `short,${TOKEN}`, `${TOKEN},`, `,${TOKEN}`, 'a,'.repeat(20)])
      expect([text, faultsOf({ PORTAL_TOKEN: text })]).toEqual([
        text,
        [expect.stringContaining('without spaces or commas, or two such tokens')],
      ])
  })

  test('ADMIN_HOST has a default, needs ADMIN_PORT, and ADMIN_PORT is not PORT', () => {
    expect(readConfig({ ADMIN_PORT: '9090' }).admin).toEqual({ port: 9090, host: '127.0.0.1' })
    expect(readConfig({ ADMIN_PORT: '9090', ADMIN_HOST: '::' }).admin).toEqual({ port: 9090, host: '::' })
    expect(readConfig({ PORT: '0', ADMIN_PORT: '0' }).admin?.port).toBe(0)
    expect(faultsOf({ ADMIN_HOST: '0.0.0.0' })).toEqual([
      'ADMIN_HOST is set, but ADMIN_PORT is not: use both, or remove ADMIN_HOST.',
    ])
    expect(faultsOf({ PORT: '9090', ADMIN_PORT: '9090' })).toEqual([
      'ADMIN_PORT is 9090, like PORT: use a different port.',
    ])
  })

  test('WEBHOOK_ALLOW_HOSTS is refused in production', () => {
    const faults = faultsOf({ WEBHOOK_ALLOW_HOSTS: 'localhost:9000', NODE_ENV: 'production' })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain('WEBHOOK_ALLOW_HOSTS is not allowed when NODE_ENV is production')
  })
})

describe('how people sign in', () => {
  const OIDC = { OIDC_ISSUER: 'https://login.example', OIDC_CLIENT_ID: 'desk', OIDC_CLIENT_SECRET: 'hunter2' }
  const MAIL = { SMTP_URL: 'smtps://desk:hunter2@mail.example', MAIL_FROM: 'Desk <desk@rentals.example>' }
  const signInOf = (env: Record<string, string>) => readConfig(env).signIn

  test.each([
    [
      'OIDC_ISSUER',
      [
        'https://a.example/realms/x',
        'https://a.example/',
        'http://127.0.0.1:8080',
        'http://[::1]',
        'http://localhost/a',
      ],
      ['http://a.example', 'http://127.evil.example', 'https://a.example?x=1', 'https://u:p@a.example', 'a.example'],
    ],
    ['OIDC_ONLY', ['true', 'false'], ['1', 'yes']],
    [
      'SMTP_URL',
      ['smtp://mail.example', 'smtps://u:p@mail.example:465/', 'smtp://u%40d:p%2F@[::1]:25'],
      ['http://mail.example', 'smtp://', 'smtp://u@mail.example', 'smtp://h/x', 'smtp://h?tls=no', 'smtp://%:p@h'],
    ],
    [
      'MAIL_FROM',
      ['desk@rentals.example', 'Desk <desk@rentals.example>', 'Müller & Söhne <a@b>'],
      ['desk', 'a@b, c@d', 'Desk <desk>', 'Desk\r\nBcc: x <a@b>', '"Desk" <a@b>', 'a b@c'],
    ],
  ])('%s: what passes and what does not', (name, good, bad) => {
    const others = { ...OIDC, ...MAIL }
    for (const value of good) expect([value, faultsOf({ ...others, [name]: value })]).toEqual([value, []])
    for (const value of bad) expect([value, faultsOf({ ...others, [name]: value }).length]).toEqual([value, 1])
  })

  test.each(Object.keys({ ...OIDC, ...MAIL }))('without %s, the rest of its set is refused by name', (name) => {
    const env = { ...OIDC, ...MAIL, [name]: '' }
    expect(faultsOf(env)).toEqual([expect.stringMatching(new RegExp(`^${name} is required when \\w+ is set: use `))])
  })

  test('OIDC_ONLY needs a provider', () => {
    expect(faultsOf({ OIDC_ONLY: 'true' })).toEqual([
      'OIDC_ONLY is set, but OIDC_ISSUER is not: nobody could sign in. Use both, or remove OIDC_ONLY.',
    ])
    expect(signInOf({ ...OIDC, OIDC_ONLY: 'true' }).oidc?.isOnly).toBe(true)
    expect(signInOf(OIDC).oidc?.isOnly).toBe(false)
  })

  test('no message contains a secret of the provider or the mail server', () => {
    const faults = faultsOf({ ...OIDC, OIDC_CLIENT_SECRET: 'hunter 2', ...MAIL, SMTP_URL: 'smtp://desk:hunter2@' })
    expect(faults).toHaveLength(2)
    expect(faults.join()).not.toContain('hunter')
  })

  test('the password for the mail server travels over TLS, unless the server is this machine', () => {
    const serverOf = (url: string) => signInOf({ ...MAIL, SMTP_URL: url }).mail?.server
    expect(serverOf('smtps://desk:p%40ss@mail.example')).toEqual({
      host: 'mail.example',
      port: 465,
      security: 'tls',
      login: { user: 'desk', password: 'p@ss' },
    })
    expect(serverOf('smtp://mail.example')).toMatchObject({ port: 587, security: 'starttls', login: null })
    expect(serverOf('smtp://[::1]:25')).toMatchObject({ host: '::1', port: 25, security: 'none' })
    expect(signInOf(MAIL).mail?.from).toEqual({ name: 'Desk', address: 'desk@rentals.example' })
  })
})

describe('WORKERS', () => {
  const workersOf = (text: string) => readConfig({ WORKERS: text }).workers

  test.skipIf(process.platform !== 'linux')(
    'is how many processes serve, by default one, or one less than there are cores',
    () => {
      expect(readConfig({}).workers).toBe(1)
      expect([workersOf('1'), workersOf('64')]).toEqual([1, 64])
      expect(workersOf('auto')).toBe(Math.min(64, Math.max(1, availableParallelism() - 1)))
    },
  )

  test('have ports of their own only if they are asked for, and then no other listener may have one of them', () => {
    expect(readConfig({ WORKER_PORTS: 'true', WORKERS: '4', PORT: '3000', ADMIN_PORT: '3005' }).workerPorts).toBe(true)
    const faultsWith = (env: Record<string, string>) => faultsOf({ WORKER_PORTS: 'true', ...env })
    expect(faultsWith({ PORT: '0' })).toEqual([
      "PORT is 0, but the ports after it are to be the workers' own: use a fixed port.",
    ])
    const four = process.platform === 'linux' ? 4 : 1
    expect(faultsWith({ WORKERS: '4', PORT: '65534' })).toEqual(
      four === 4 ? ["PORT is 65534, but the 4 ports after it are the workers': use a port of at most 65531."] : [],
    )
    expect(faultsWith({ WORKERS: '4', PORT: '3000', ADMIN_PORT: String(3000 + four) })).toEqual([
      `ADMIN_PORT is ${3000 + four}, but ports 3001 to ${3000 + four} are the workers': use a different port.`,
    ])
    expect(faultsOf({ WORKERS: '4', PORT: '3000', ADMIN_PORT: '3001' })).toEqual([])
  })

  test('is nothing else', () => {
    for (const text of ['0', '65', '2.5', '-1', 'all', 'Auto'])
      expect(faultsOf({ WORKERS: text })).toEqual([
        `WORKERS is ${JSON.stringify(text)}: use auto, or a whole number from 1 to 64.`,
      ])
  })
})

describe('a node of a cluster', () => {
  const NODE = {
    ...SERVER,
    CLUSTER_ETCD: 'http://u:hunter3@a:2379,b',
    NODE_ID: 'node-a',
    NODE_URL: 'http://10.0.0.1:3000/',
    CLUSTER_SECRET: 's'.repeat(32),
  }

  test('is what CLUSTER_ETCD makes of a process', () => {
    expect(readConfig(NODE).cluster).toEqual({
      etcd: { origins: ['http://a:2379', 'http://b:2379'], user: { name: 'u', password: 'hunter3' } },
      tls: {},
      nodeId: 'node-a',
      nodeUrl: 'http://10.0.0.1:3000',
      secrets: ['s'.repeat(32)],
    })
  })

  test('is each worker of its host, at a port of its own', () => {
    const nodeOf = (url: string) => {
      const { cluster } = readConfig({ ...NODE, NODE_URL: url, WORKERS: '3' })
      const { nodeId, nodeUrl } = nodeOfWorker(cluster as NonNullable<typeof cluster>, 3)
      return [nodeId, nodeUrl]
    }
    expect(nodeOf('http://10.0.0.1:3000')).toEqual(['node-a.3', 'http://10.0.0.1:3003'])
    expect(nodeOf('http://a')).toEqual(['node-a.3', 'http://a:83'])
    expect(nodeOf('https://[::1]')).toEqual(['node-a.3', 'https://[::1]:446'])
  })

  test.skipIf(process.platform !== 'linux')("has no other listener at a worker's port", () => {
    expect(faultsOf({ ...NODE, WORKERS: '2', PORT: '3000', ADMIN_PORT: '3002' })).toEqual([
      "ADMIN_PORT is 3002, but ports 3001 to 3002 are the workers': use a different port.",
    ])
  })

  test('shows etcd a certificate with its key, or none', () => {
    const file = 'package.json'
    expect(readConfig({ ...NODE, CLUSTER_ETCD_CERT: file, CLUSTER_ETCD_KEY: file }).cluster?.tls).toEqual({
      cert: expect.any(String),
      key: expect.any(String),
    })
    for (const name of ['CLUSTER_ETCD_CERT', 'CLUSTER_ETCD_KEY'])
      expect(faultsOf({ ...NODE, [name]: file }).join()).toContain(
        'Only one of CLUSTER_ETCD_CERT and CLUSTER_ETCD_KEY is set',
      )
  })

  test('knows two secrets while they are changed', () => {
    const two = ['n'.repeat(32), 's'.repeat(40)]
    expect(readConfig({ ...NODE, CLUSTER_SECRET: two.join() }).cluster?.secrets).toEqual(two)
  })

  test.each(['NODE_ID', 'NODE_URL', 'CLUSTER_SECRET'] as const)('needs %s, which nothing else does', (name) => {
    expect(faultsOf({ ...NODE, [name]: '' }).join()).toStartWith(`${name} is required when CLUSTER_ETCD is set`)
    expect(faultsOf({ ...SERVER, [name]: NODE[name] }).join()).toStartWith(`${name} is set, but CLUSTER_ETCD is not`)
  })

  test('needs a database that others reach too', () => {
    const { DATABASE_URL: _, ...without } = NODE
    expect(faultsOf(without)).toEqual([
      'CLUSTER_ETCD is set, but DATABASE_URL is not: set it to a PostgreSQL that every node can reach.',
    ])
  })

  test.each([
    ['CLUSTER_ETCD', 'somewhere:2379'],
    ['NODE_ID', 'a/b'],
    ['NODE_ID', 'x'.repeat(65)],
    ['NODE_URL', 'http://a/b'],
    ['NODE_URL', 'a:3000'],
    ['CLUSTER_SECRET', 'short'],
    ['CLUSTER_SECRET', `${'s'.repeat(32)},short`],
    ['CLUSTER_SECRET', `${'s'.repeat(32)},`],
    ['CLUSTER_SECRET', ['a', 'b', 'c'].map((each) => each.repeat(32)).join()],
    ['CLUSTER_ETCD_CA', '/does/not/exist'],
  ])('refuses %s=%s, and does not repeat a secret', (name, value) => {
    const [fault = '', ...others] = faultsOf({ ...NODE, [name]: value })
    expect(others).toEqual([])
    expect(fault).toStartWith(name)
    expect(fault).not.toContain('hunter3')
    expect(fault.includes(value)).toBe(!['CLUSTER_ETCD', 'CLUSTER_SECRET'].includes(name))
  })
})

describe('where traces are sent', () => {
  const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }

  test('is nowhere without an endpoint, and by default all of them under our name', () => {
    expect(readConfig({ OTEL_SERVICE_NAME: 'desk', OTEL_TRACES_SAMPLER_ARG: '0.5' }).traces).toBeNull()
    expect(readConfig(ENDPOINT).traces).toEqual({
      ...{ url: 'http://127.0.0.1:4318/v1/traces', headers: {}, serviceName: 'nightledger', ratio: 1 },
    })
  })

  test.each([
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      ['https://otlp.example', 'http://[::1]:4318/', 'https://otlp.example/a/b'],
      ['otlp.example:4318', 'grpc://otlp.example', 'https://u:p@otlp.example', 'https://otlp.example?x=1', 'http://'],
    ],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      ['api-key=x', 'a=1, b=2', 'authorization=Basic%20dTpw', 'a=b=c'],
      ['api-key', 'a b=c', 'a=%', 'a=1,', 'a=x%0d%0aX: y'],
    ],
    ['OTEL_TRACES_SAMPLER_ARG', ['0', '1', '0.25', '1.0'], ['1.1', '-1', '1e-3', 'NaN', '50%']],
  ])('%s: what passes and what does not', (name, good, bad) => {
    for (const value of good) expect([value, faultsOf({ ...ENDPOINT, [name]: value })]).toEqual([value, []])
    for (const value of bad) expect([value, faultsOf({ ...ENDPOINT, [name]: value }).length]).toEqual([value, 1])
  })

  test('without an endpoint nothing is read that other programs may have been given', () => {
    const others = { OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://jaeger:14250', OTEL_EXPORTER_OTLP_HEADERS: 'a=1,' }
    expect(faultsOf(others)).toEqual([])
    expect(faultsOf({ ...others, ...ENDPOINT })).toHaveLength(2)
  })

  test('is one path below the endpoint, and headers are decoded', () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example/tenant/',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20dTpw, x-tenant=a=b',
    }
    expect(readConfig(env).traces).toMatchObject({
      ...{ url: 'https://otlp.example/tenant/v1/traces', headers: { authorization: 'Basic dTpw', 'x-tenant': 'a=b' } },
    })
  })

  test('no message contains a secret of the collector', () => {
    const faults = faultsOf({
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://u:hunter2@otlp', OTEL_EXPORTER_OTLP_HEADERS: 'hunter2' },
    })
    expect(faults).toHaveLength(2)
    expect(faults.join()).not.toContain('hunter')
  })
})
