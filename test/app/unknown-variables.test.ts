import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { ConfigError, DEFAULTS, LIMITS, readConfig, VARIABLES } from '../../src/app/config.ts'
import { unknownVariables } from '../../src/app/unknown-variables.ts'
import { sectionOf } from '../support/shell-blocks.ts'

const faultsOf = (env: Record<string, string>) => unknownVariables(env, VARIABLES)

describe('a variable that looks like ours and is none', () => {
  test.each([
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['Database_Url', 'DATABASE_URL'],
    ['DATBASE_ULR', 'DATABASE_URL'],
    ['PORTAL_TOKENS', 'PORTAL_TOKEN'],
    ['SECRETKEY', 'SECRET_KEY'],
    ['DATADIR', 'DATA_DIR'],
    ['ADMIN_PROT', 'ADMIN_PORT'],
    ['WEBHOOK_ALLOW_HOST', 'WEBHOOK_ALLOW_HOSTS'],
    ['RETAIN_LOG_YEAR', 'RETAIN_LOG_YEARS'],
  ])('%s is misspelt', (name, meant) => {
    expect(faultsOf({ [name]: 'x' })).toEqual([
      `${name} is not a variable of nightledger: did you mean ${meant}? Correct the name, or remove the variable.`,
    ])
  })

  test('a name that begins as only ours do is named, with those that there are', () => {
    expect(faultsOf({ OIDC_SCOPES: 'x', NIGHTLEDGER_PORTS: '1' })).toEqual([
      'OIDC_SCOPES is not a variable of nightledger: remove it, or use OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ONLY.',
      'NIGHTLEDGER_PORTS is not a variable of nightledger: remove it.',
    ])
  })

  test('a start is refused, and says so before anything else happens', () => {
    const env = { DATABSE_URL: 'postgres://u:p@db/n' }
    expect(() => readConfig(env)).toThrow(ConfigError)
    expect(() => readConfig(env)).toThrow('did you mean DATABASE_URL?')
  })

  test('an empty one counts as not set', () => {
    expect(faultsOf({ DATABSE_URL: '' })).toEqual([])
  })

  test('its value, which may be a secret, is not repeated', () => {
    expect(faultsOf({ DATABSE_URL: 'hunter2', PORTAL_TOKN: 'hunter2', SMTP_PASSWORD: 'hunter2' }).join()).not.toContain(
      'hunter2',
    )
  })
})

describe('what is no fault', () => {
  test('each of our own variables', () => {
    expect(faultsOf(Object.fromEntries(VARIABLES.map((name) => [name, 'x'])))).toEqual([])
  })

  test("those of our commands and of the database's set-up, which may be in the same file", () => {
    const names = [
      ...['NIGHTLEDGER_URL', 'NIGHTLEDGER_KEY', 'NIGHTLEDGER_AGENCY', 'SECRET_KEY_OLD', 'NEW_SECRET_KEY'],
      ...['NIGHTLEDGER_SERVICE_PASSWORD', 'NIGHTLEDGER_OWNER_PASSWORD', 'NIGHTLEDGER_MEMORY'],
    ]
    expect(faultsOf(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([])
  })

  test('what shells, systemd, container images, Node, PostgreSQL, Prometheus and clouds set', () => {
    const names = [
      ...[
        'PATH',
        'HOME',
        'HOSTNAME',
        'HOSTTYPE',
        'SHELL',
        'TERM',
        'USER',
        'LOGNAME',
        'PWD',
        'SHLVL',
        'LANG',
        'TZ',
        'MAIL',
        '_',
      ],
      ...[
        'INVOCATION_ID',
        'JOURNAL_STREAM',
        'NOTIFY_SOCKET',
        'LISTEN_FDS',
        'RUNTIME_DIRECTORY',
        'CREDENTIALS_DIRECTORY',
      ],
      ...[
        'NODE_OPTIONS',
        'NODE_VERSION',
        'NODE_PATH',
        'NODE_EXTRA_CA_CERTS',
        'NODE_NAME',
        'NODE_IP',
        'POD_IP',
        'POD_NAME',
      ],
      ...[
        'PGHOST',
        'PGPORT',
        'PGUSER',
        'PGDATABASE',
        'PGDATA',
        'POSTGRES_PASSWORD',
        'POSTGRES_HOST',
        'DB_HOST',
        'DB_PORT',
      ],
      ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'no_proxy', 'SSL_CERT_FILE', 'BUN_CONFIG_MAX_HTTP_REQUESTS'],
      ...[
        'CLUSTER_NAME',
        'CLUSTER_ID',
        'CLUSTER_DOMAIN',
        'WEBHOOK_SECRET',
        'WEBHOOK_URL',
        'REDIS_URL',
        'DATABASE_NAME',
      ],
      ...[
        'OTEL_SERVICE_NAME',
        'AWS_REGION',
        'PUBLIC_IP',
        'ADMIN_USER',
        'ADMIN_PASSWORD',
        'npm_package_name',
        'port',
        'host',
      ],
      'MIMALLOC_ALLOW_THP',
    ]
    expect(faultsOf(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([])
  })

  test.each([
    ['DATABASE_URI', 'DATABASE_URL'],
    ['EMAIL_FROM', 'MAIL_FROM'],
    ['LOGLEVEL', 'LOG_LEVEL'],
  ])('%s of other software beside our %s: nothing is misspelt', (name, ours) => {
    expect(faultsOf({ [name]: 'x', [ours]: 'x' })).toEqual([])
    expect(faultsOf({ [name]: 'x', [ours]: '' })).toHaveLength(1)
  })

  test('what Kubernetes sets for services called nightledger, nightledger-admin and portal', () => {
    const env = Object.fromEntries(
      ['NIGHTLEDGER', 'NIGHTLEDGER_ADMIN', 'PORTAL'].flatMap((service) => [
        [`${service}_SERVICE_HOST`, '10.0.0.1'],
        [`${service}_SERVICE_PORT`, '80'],
        [`${service}_SERVICE_PORT_HTTP`, '80'],
        [`${service}_PORT`, 'tcp://10.0.0.1:80'],
        [`${service}_PORT_80_TCP`, 'tcp://10.0.0.1:80'],
        [`${service}_PORT_80_TCP_PROTO`, 'tcp'],
        [`${service}_PORT_80_TCP_PORT`, '80'],
        [`${service}_PORT_80_TCP_ADDR`, '10.0.0.1'],
      ]),
    )
    expect(faultsOf(env)).toEqual([])
    expect(faultsOf({ NIGHTLEDGER_PORT: '3000' })).toHaveLength(1)
  })
})

describe('docs/operating.md', () => {
  const rows = [...sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Environment').matchAll(/^\| `.*$/gm)].map(
    ([row]) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')),
  )

  test('has a row for every variable, and no other', () => {
    const named = rows.flatMap(([, names = '']) => names.split(', '))
    expect(named.toSorted()).toEqual(VARIABLES.toSorted())
  })

  test('has the defaults', () => {
    const documented = new Map(rows.map(([, name = '', fallback = '']) => [name, fallback]))
    const defaults = [
      ...Object.entries(DEFAULTS),
      ...Object.values(LIMITS).map(({ variable, fallback }) => [variable, fallback] as const),
    ]
    for (const [name, value] of defaults) expect([name, documented.get(name)]).toEqual([name, String(value)])
  })
})

test('to set a variable to its default changes nothing', () => {
  // These are refused without the variable that they belong to.
  const { ADMIN_HOST, ...others } = DEFAULTS
  const env = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)]))
  expect(readConfig(env)).toEqual(readConfig({}))
  expect(readConfig({ ADMIN_PORT: '1', ADMIN_HOST })).toEqual(readConfig({ ADMIN_PORT: '1' }))
})
