/** Puts the files of deploy/cluster/ on hosts, as docs/cluster.md says. */
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { servicePassword } from '../../../src/postgres/embedded/cluster.ts'
import { asService } from '../postgres.ts'
import { TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../service-process.ts'
import type { Host, UnitPaths } from './host.ts'

/** The names that the files have. */
export const HOSTS = ['host1', 'host2', 'host3'] as const

const FILES = resolve(import.meta.dir, '../../../deploy/cluster')
/** Debian's own units; ours add to them. */
const DEBIAN = '/lib/systemd/system'
export const UNITS = {
  etcd: [`${DEBIAN}/etcd.service`, `${FILES}/etcd.conf`],
  patroni: [`${DEBIAN}/patroni.service`, `${FILES}/patroni.conf`],
  nightledger: [resolve(FILES, '../systemd/nightledger.service'), `${FILES}/nightledger.conf`],
  haproxy: [`${DEBIAN}/haproxy.service`],
} as const satisfies Record<string, UnitPaths>

const PASSWORD = 'secret-of-the-test'
const CLUSTER_SECRET = 'cluster-secret-of-the-tests-0123456789'

/** As the owner. `asService` makes it the URL of a node. */
export function databaseUrlOf(addresses: readonly string[]): string {
  return `postgres://nightledger:${PASSWORD}@${addresses.map((address) => `${address}:5432`).join()}/nightledger`
}

/** etcd, Patroni and PostgreSQL. */
export function installParts(host: Host): void {
  host.install(join(FILES, 'etcd.env'), '/etc/nightledger/etcd.env')
  host.install(join(FILES, 'patroni.yml'), '/etc/patroni/config.yml')
  host.install(join(FILES, 'database.sql'), '/etc/patroni/database.sql')
  const role = (name: string, user: string) => ({
    [`PATRONI_${name}_USERNAME`]: user,
    [`PATRONI_${name}_PASSWORD`]: PASSWORD,
  })
  host.write(
    '/etc/nightledger/patroni.env',
    lines({
      ...role('SUPERUSER', 'postgres'),
      ...role('REPLICATION', 'replicator'),
      ...role('REWIND', 'rewinder'),
      NIGHTLEDGER_OWNER_PASSWORD: PASSWORD,
      NIGHTLEDGER_SERVICE_PASSWORD: servicePassword(PASSWORD),
    }),
  )
}

export function installEntrance(host: Host): void {
  for (const file of ['haproxy.cfg', 'owner.map']) host.install(join(FILES, file), `/etc/haproxy/${file}`)
}

/** What the process of a host is from its next start on. */
export function configureNode(
  host: Host,
  { isNode, proxy, env }: { isNode: boolean; proxy: string; env: Readonly<Record<string, string>> },
): void {
  const [first, ...others] = HOSTS.map((name) => `${name}:2379`)
  host.write(
    '/etc/nightledger/nightledger.env',
    lines({
      DATABASE_URL: asService(databaseUrlOf(HOSTS)),
      PORTAL_TOKEN: TEST_PORTAL_TOKEN,
      SECRET_KEY: TEST_SECRET_KEY,
      TRUSTED_PROXIES: proxy,
      REQUIRE_SYNCHRONOUS_STANDBY: 'true',
      // The unit sets NODE_ID and NODE_URL, which mean nothing to a single process; an empty variable counts as not set.
      ...(isNode
        ? { CLUSTER_ETCD: [`http://${first}`, ...others].join(), CLUSTER_SECRET }
        : { NODE_ID: '', NODE_URL: '' }),
      ...env,
    }),
  )
}

/** Used by the next start of the host's process. */
export function installBinary(host: Host, binary: string): void {
  const target = join(host.root, 'usr/local/bin/nightledger')
  rmSync(target, { force: true })
  cpSync(binary, target)
  chmodSync(target, 0o755)
}

function lines(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
