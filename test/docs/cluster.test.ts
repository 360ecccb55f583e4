/** The files of deploy/cluster/ and compose.cluster.yaml: what the tests of three hosts do not run. Those run the files themselves. */
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import { readConfig } from '../../src/app/config.ts'
import { composeFaults } from '../support/cluster/compose-faults.ts'
import { HOSTS } from '../support/cluster/documented-files.ts'
import { readUnit } from '../support/cluster/unit-file.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

const FOLDER = 'deploy/cluster'
const DOCUMENT = readFileSync('docs/cluster.md', 'utf8')

interface Service {
  readonly hostname?: string
  readonly image?: string
  readonly network_mode?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly env_file?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
}

/** What the secrets of the document come to, by file. */
function madeSecrets(): Record<string, Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-secrets-'))
  try {
    for (const { script } of shellBlocksOf(sectionOf(DOCUMENT, 'Setting it up'))) {
      const { exitCode, stderr } = Bun.spawnSync(['bash', '-euo', 'pipefail', '-c', script], {
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '', PUBLIC_URL: 'https://bookings.example.com', PROXY_ADDRESS: '10.0.0.9' },
      })
      expect([exitCode, stderr.toString()]).toEqual([0, ''])
    }
    return Object.fromEntries(
      readdirSync(join(folder, 'secrets')).map((file) => [
        file,
        Object.fromEntries(
          readFileSync(join(folder, 'secrets', file), 'utf8')
            .trim()
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
        ),
      ]),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('with the secrets of the document, every host has a valid node of the same cluster', () => {
  const secrets = madeSecrets()
  for (const host of HOSTS) {
    const folder = mkdtempSync(join(tmpdir(), 'nightledger-unit-'))
    const unit = join(folder, 'nightledger.service')
    const text = readFileSync('deploy/systemd/nightledger.service', 'utf8')
    writeFileSync(unit, text.replace(/^EnvironmentFile=.*$/m, ''))
    const { environment } = readUnit([unit, `${FOLDER}/nightledger.conf`], { host, unit: 'nightledger', root: folder })
    rmSync(folder, { recursive: true, force: true })
    const config = readConfig({ ...environment, ...secrets['nightledger.env'] })
    expect(config.cluster).toMatchObject({ nodeId: host, nodeUrl: `http://${host}:3000` })
    expect(config).toMatchObject({ host: '0.0.0.0', port: 3000, requireSynchronousStandby: true })
    expect(config).toMatchObject({ publicUrl: 'https://bookings.example.com', trustedProxies: ['10.0.0.9'] })
  }
  expect(Object.keys(secrets['patroni.env'] ?? {})).toHaveLength(8)
})

describe('compose.cluster.yaml', () => {
  const { services } = Bun.YAML.parse(readFileSync('compose.cluster.yaml', 'utf8')) as {
    services: Record<string, Service>
  }
  const named = (part: string) => HOSTS.map((_, i) => services[`${part}${i + 1}`] as Service)

  test('gives etcd, PostgreSQL and the node of a host its name and its network', () => {
    for (const [i, host] of HOSTS.entries()) {
      expect(named('host')[i]?.hostname).toBe(host)
      for (const part of ['etcd', 'postgres', 'nightledger'])
        expect(named(part)[i]?.network_mode).toBe(`service:${host}`)
    }
  })

  test('sets what the units set', () => {
    for (const [part, file] of [
      ['etcd', 'etcd.conf'],
      ['postgres', 'patroni.conf'],
      ['nightledger', 'nightledger.conf'],
    ] as const) {
      for (const [i, host] of HOSTS.entries()) {
        const assignments = [...readFileSync(`${FOLDER}/${file}`, 'utf8').matchAll(/^Environment=(\w+)=(.*)$/gm)]
        const ofHost = assignments.filter(([, , value = '']) => value.includes('%H'))
        expect(named(part)[i]?.environment).toEqual(
          Object.fromEntries(ofHost.map(([, name = '', value = '']) => [name, value.replace('%H', host)])),
        )
      }
    }
  })

  test('mounts files that exist, and has no secret in it', () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.filter((each) => each.startsWith('./')),
    )
    for (const mount of mounted) expect([mount, existsSync(mount.split(':')[0] as string)]).toEqual([mount, true])
    const files = new Set(Object.values(services).flatMap(({ env_file = [] }) => env_file))
    expect([...files].toSorted()).toEqual([
      `${FOLDER}/etcd.env`,
      'secrets/migration.env',
      'secrets/nightledger.env',
      'secrets/patroni.env',
    ])
    expect(readFileSync('compose.cluster.yaml', 'utf8')).not.toMatch(/PASSWORD|SECRET|TOKEN/)
  })

  const secrets = madeSecrets()
  const TEXT = readFileSync('compose.cluster.yaml', 'utf8')

  test('has nothing in it that would keep it from working, as far as can be told without a container engine', () => {
    expect(composeFaults(TEXT, secrets)).toEqual([])
  })

  test.each([
    ['a name of a host', 'hostname: host2', 'hostname: host3', /host2: is called host3/],
    ['a network of a host', 'network_mode: service:host1', 'network_mode: service:host4', /service:host4 is no host/],
    ['a network', 'networks: [cluster]', 'networks: [clusters]', /no network clusters/],
    ['a folder to build', 'build: deploy/cluster', 'build: deploy', /no Dockerfile in deploy/],
    ['a user', 'user: postgres', 'user: patroni', /postgres1: runs as patroni/],
    ['a program', 'command: [etcd]', 'command: [etcdd]', /etcdd is not a program/],
    [
      'the file of a command',
      'patroni, /etc/patroni/config.yml',
      'patroni, /etc/patroni/c.yml',
      /c.yml is not mounted/,
    ],
    ['a file that is mounted', './deploy/cluster/owner.map', './deploy/cluster/o.map', /no file .*o.map/],
    ['where it is mounted', ':/etc/haproxy/owner.map', ':/etc/haproxy/o.map', /owner.map is not mounted/],
    ['where a file of a file is', ':/etc/patroni/database.sql', ':/etc/database.sql', /database.sql is not mounted/],
    ['where a volume is', 'etcd1:/var/lib/etcd', 'etcd1:/var/lib/etc', /var.lib.etcd.nightledger is on no volume/],
    ['a volume of two', 'etcd2:/var/lib/etcd', 'etcd1:/var/lib/etcd', /etcd1: a volume of 2 services/],
    ['a volume', 'postgres3: {} }', 'postgres4: {} }', /no volume postgres3/],
    ['a port of etcd', 'http://host1:2379', 'http://host1:2380', /host1: ETCD_ADVERTISE_CLIENT_URLS/],
    ['a peer of etcd', 'http://host3:2380', 'http://host3:2381', /host3: ETCD_INITIAL_ADVERTISE_PEER_URLS/],
    ['a port of Patroni', 'host2:8008', 'host2:8080', /Patroni's RESTAPI is elsewhere/],
    ['a port of PostgreSQL', 'host3:5432', 'host3:5433', /Patroni's POSTGRESQL is elsewhere/],
    ['a variable of a node', 'NODE_ID: host1', 'NODE_IDS: host1', /NODE_ID is required/],
    ['an address of a node', 'http://host2:3000', 'http://host2:3001', /NODE_URL is http:..host2:3001, and PORT 3000/],
    ['the secrets of a node', 'secrets/nightledger.env', 'secrets/node.env', /CLUSTER_SECRET|CLUSTER_ETCD/],
    ['the port of HAProxy', '8080:8080', '8080:80', /haproxy: listens on :8080/],
  ])('a mistake in %s would be found', (_, right, wrong, fault) => {
    expect(TEXT).toContain(right)
    expect(composeFaults(TEXT.replace(right, wrong), secrets).join('\n')).toMatch(fault)
  })

  test('builds its parts from what the document installs', () => {
    const dockerfile = readFileSync(`${FOLDER}/Dockerfile`, 'utf8')
    expect(validate(dockerfile).map(({ message }) => message)).toEqual([])
    const installed = [...DOCUMENT.matchAll(/^apt-get install -y (.*)$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    )
    for (const name of installed) if (name !== 'etcd-client') expect(dockerfile).toContain(` ${name}`)
    // Debian 12 has this version of PostgreSQL.
    expect(dockerfile).toContain('FROM debian:bookworm')
    expect(readFileSync(`${FOLDER}/patroni.yml`, 'utf8')).toContain('/usr/lib/postgresql/15/bin')
  })

  test('names the image by the version of the package, and opens only the load balancer', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    for (const node of named('nightledger')) expect(node.image).toBe(`nightledger:${version}`)
    expect(Object.keys(services).filter((name) => services[name]?.ports !== undefined)).toEqual(['haproxy'])
  })
})
