import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { validate } from 'dockerfile-utils'
import { parse } from 'yaml'
import { readConfig } from '../../src/app/config.ts'
import { environmentOf, lastStep, readStages, type Stage } from '../support/dockerfile.ts'
import { TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../support/service-process.ts'

/* What can be told of the Dockerfile and compose.yaml without an engine; containers.long.test.ts runs them. */

const stages = readStages('Dockerfile')
const build = stages[0] as Stage
const final = stages.at(-1) as Stage
const ignored = readFileSync('.dockerignore', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

describe('the Dockerfile', () => {
  test('has nothing that the linter minds', () => {
    expect(validate(readFileSync('Dockerfile', 'utf8')).map(({ message }) => message)).toEqual([])
  })

  test('names a version of each base, runs as an ordinary user, and needs no shell at run time', () => {
    expect(stages).toHaveLength(2)
    for (const { base } of stages) expect(base).toMatch(/:(?!latest)[\w.-]+$/)
    for (const stage of stages) expect(lastStep(stage, 'USER')?.text).toMatch(/^(node|nonroot)$/)
    expect(final.steps.filter(({ keyword }) => keyword === 'RUN')).toEqual([])
    const healthcheck = lastStep(final, 'HEALTHCHECK')
    expect(healthcheck?.list).toEqual(['/usr/local/bin/nightledger', 'health'])
    expect(lastStep(final, 'ENTRYPOINT')?.list).toEqual(['/usr/local/bin/nightledger'])
    // The binary and nothing else.
    expect(final.steps.filter(({ keyword }) => keyword === 'COPY')).toHaveLength(1)
  })

  test('compiles on the Node that the package asks for', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
    const [, major] = /^node:(\d+)\./.exec(build.base) ?? []
    expect(engines.node).toBe(`>=${major}`)
  })

  test('sets what config.ts reads', () => {
    const environment = environmentOf(final)
    const given = { DATABASE_URL: 'postgres://a:b@c/d', PORTAL_TOKEN: TEST_PORTAL_TOKEN, SECRET_KEY: TEST_SECRET_KEY }
    expect(readConfig({ ...environment, ...given })).toMatchObject({
      environment: 'production',
      host: '0.0.0.0',
      port: 3000,
    })
    expect(lastStep(final, 'EXPOSE')?.text).toBe(environment['PORT'] as string)
  })

  test('is given what it copies, and nothing else', () => {
    const copied = build.steps
      .filter(({ keyword }) => keyword === 'COPY')
      .flatMap(({ text }) => text.split(/\s+/).slice(0, -1))
    expect(ignored[0]).toBe('*')
    expect(ignored.slice(1).toSorted()).toEqual(copied.map((path) => `!${path}`).toSorted())
    for (const path of copied) expect([path, existsSync(path)]).toEqual([path, true])
  })
})

describe('compose.yaml', () => {
  const { services, networks, secrets } = parse(readFileSync('compose.yaml', 'utf8'), { merge: true })
  const { haproxy, migrate, nightledger, postgres, standby } = services

  test('refuses to start without secrets, and has none in it', () => {
    expect(nightledger.env_file).toEqual(['secrets/nightledger.env'])
    expect([migrate.env_file, postgres.env_file]).toEqual([['secrets/migration.env'], ['secrets/postgres.env']])
    expect(secrets['postgres-password'].file).toBe('./secrets/postgres-password')
    expect(postgres.environment.POSTGRES_PASSWORD_FILE).toBe('/run/secrets/postgres-password')
    const text = readFileSync('compose.yaml', 'utf8')
    expect(text).not.toMatch(/POSTGRES_PASSWORD:|PORTAL_TOKEN:|SECRET_KEY:|DATABASE_URL:/)
    expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('secrets/')
  })

  test('gives the processes longer than their 10 s to drain, and the database no port', () => {
    for (const { stop_grace_period: period } of [nightledger, standby])
      expect(Number.parseInt(period, 10)).toBeGreaterThan(10)
    expect(postgres.ports).toBeUndefined()
    expect(postgres.networks).toEqual(['database'])
    expect(networks.database.internal).toBe(true)
  })

  test('migrates on demand, as the owner, whose password the service does not get', () => {
    expect(migrate).toMatchObject({ profiles: ['migrate'], command: ['migrate'], networks: ['database'] })
    expect([nightledger.secrets, standby.secrets]).toEqual([undefined, undefined])
  })

  test('trusts the addresses of its proxies, and HAProxy asks the two processes', () => {
    const address = (service: { networks: { front: { ipv4_address: string } } }) => service.networks.front.ipv4_address
    const gateway = networks.front.ipam.config[0].subnet.replace('.0/24', '.1')
    expect(nightledger.environment.TRUSTED_PROXIES).toBe([gateway, address(haproxy)].join())
    expect(Object.values(haproxy.environment)).toEqual([nightledger, standby].map((each) => `${address(each)}:3000`))
  })

  test('names the image by the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    for (const { image } of [nightledger, standby, migrate]) expect(image).toBe(`nightledger:${version}`)
  })

  test('names only variables that config.ts reads', () => {
    const given = { DATABASE_URL: 'postgres://a:b@c/d', PORTAL_TOKEN: TEST_PORTAL_TOKEN, SECRET_KEY: TEST_SECRET_KEY }
    expect(readConfig({ ...environmentOf(final), ...nightledger.environment, ...given }).logLevel).toBe('info')
  })
})
