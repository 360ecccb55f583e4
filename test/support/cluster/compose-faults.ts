/** What would keep compose.cluster.yaml from working, as far as that can be told without a container engine. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../../src/app/config.ts'
import { environmentOf, readStages, type Stage } from '../dockerfile.ts'
import { HOSTS } from './documented-files.ts'

type Variables = Readonly<Record<string, string>>

interface Service {
  readonly build?: string | { readonly context: string }
  readonly image?: string
  readonly user?: string
  readonly hostname?: string
  readonly network_mode?: string
  readonly networks?: readonly string[]
  readonly command?: readonly string[]
  readonly environment?: Variables
  readonly env_file?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: Readonly<Record<string, unknown>>
}

/** The package of Debian that a program is in, and the user that it runs as; null: root, which it gives up itself. */
const PROGRAMS: Readonly<Record<string, { readonly inPackage: string; readonly user: string | null }>> = {
  etcd: { inPackage: 'etcd-server', user: 'etcd' },
  patroni: { inPackage: 'patroni', user: 'postgres' },
  haproxy: { inPackage: 'haproxy', user: null },
}

/**
 * @param text of the file
 * @param secrets of docs/cluster.md, by file
 * @returns sentences; empty: there is nothing
 */
export function composeFaults(text: string, secrets: Readonly<Record<string, Variables>>): readonly string[] {
  const { services, volumes, networks } = Bun.YAML.parse(text) as Compose
  const faults: string[] = []
  const must = (is: boolean, fault: string) => void (is || faults.push(fault))

  for (const [name, service] of Object.entries(services)) {
    const { image, network_mode, networks: joined = [], command = [] } = service
    const build = typeof service.build === 'object' ? service.build.context : service.build
    must(build === undefined || existsSync(join(build, 'Dockerfile')), `${name}: no Dockerfile in ${build}`)
    must(image !== undefined, `${name}: no image`)
    must(network_mode === undefined || isHost(services, network_mode), `${name}: ${network_mode} is no host`)
    must((network_mode === undefined) === joined.length > 0, `${name}: in no network, or in two`)
    for (const network of joined) must(network in networks, `${name}: no network ${network}`)
    const mounts = mountsOf(service)
    for (const { source, target } of mounts) {
      if (source.startsWith('.')) must(existsSync(source), `${name}: no file ${source}`)
      else must(source in volumes, `${name}: no volume ${source} for ${target}`)
    }
    const [program = ''] = command
    const known = PROGRAMS[program]
    if (build !== undefined && build !== '.') {
      must(known !== undefined, `${name}: ${program} is not a program of the image`)
      if (known !== undefined) {
        must(packagesOf(build).includes(known.inPackage), `${name}: the image lacks ${known.inPackage}`)
        must((service.user ?? null) === known.user, `${name}: runs as ${service.user ?? 'root'}`)
      }
    }
    // What is looked for below /etc is mounted; what is written below /var/lib is on a volume.
    const looked = [command.join(' '), ...mounts.map(({ source }) => settingsIn(source))]
    for (const path of new Set(looked.flatMap((each) => each.match(/\/etc\/(?:patroni|haproxy)\/[\w.-]+/g) ?? [])))
      must(
        mounts.some(({ target }) => target === path),
        `${name}: ${path} is not mounted`,
      )
    for (const path of [...looked, ...Object.values(environmentFor(service, secrets))].flatMap(
      (each) => each.match(/\/var\/lib\/(?:etcd|postgresql)\/[\w.-]+/g) ?? [],
    ))
      must(
        mounts.some(({ target }) => path.startsWith(`${target}/`)),
        `${name}: ${path} is on no volume`,
      )
  }
  for (const volume of Object.keys(volumes)) {
    const users = Object.values(services).filter((each) => mountsOf(each).some(({ source }) => source === volume))
    must(users.length === 1, `${volume}: a volume of ${users.length} services`)
  }

  for (const [i, host] of HOSTS.entries()) {
    must(services[host]?.hostname === host, `${host}: is called ${services[host]?.hostname}`)
    const etcd = environmentFor(services[`etcd${i + 1}`], secrets)
    faults.push(...etcdFaults(host, etcd))
    const patroni = services[`postgres${i + 1}`]?.environment ?? {}
    const ports = patroniPorts()
    must(patroni['PATRONI_NAME'] === host, `${host}: Patroni is called ${patroni['PATRONI_NAME']}`)
    for (const [part, port] of Object.entries(ports))
      must(patroni[`PATRONI_${part}_CONNECT_ADDRESS`] === `${host}:${port}`, `${host}: Patroni's ${part} is elsewhere`)
    faults.push(...nodeFaults(host, services[`nightledger${i + 1}`], secrets))
  }
  const { haproxy = {} } = services
  const [, bound] = /^ *bind (\S+)/m.exec(read('deploy/cluster/haproxy.cfg')) ?? []
  must(haproxy.ports?.every((each) => each.endsWith(bound ?? '?')) === true, `haproxy: listens on ${bound}`)
  return faults
}

function isHost(services: Compose['services'], mode: string): boolean {
  return services[mode.replace(/^service:/, '')]?.hostname !== undefined
}

function mountsOf({ volumes = [] }: Service): readonly { readonly source: string; readonly target: string }[] {
  return volumes.map((each) => {
    const [source = '', target = ''] = each.split(':')
    return { source, target }
  })
}

/** Of a file that is mounted, without its comments. */
function settingsIn(source: string): string {
  if (!source.startsWith('.') || !existsSync(source)) return ''
  return read(source).replace(/^\s*#.*$/gm, '')
}

function packagesOf(build: string): readonly string[] {
  if (!existsSync(join(build, 'Dockerfile'))) return []
  const steps = (readStages(join(build, 'Dockerfile')).at(-1) as Stage).steps
  return steps.flatMap(({ text }) => /apt-get install ((?:[^&\\]|\\\n)*)/.exec(text)?.[1]?.split(/\s+/) ?? [])
}

function environmentFor(service: Service = {}, secrets: Readonly<Record<string, Variables>>): Variables {
  const files = (service.env_file ?? []).map((path) => secrets[path.replace(/^secrets\//, '')] ?? assignmentsIn(path))
  return Object.assign({}, ...files, service.environment ?? {})
}

function assignmentsIn(path: string): Variables {
  if (!existsSync(path)) return {}
  return Object.fromEntries(
    [...read(path).matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
}

/** What a member tells the others is where it listens, and where they look for it. */
function etcdFaults(host: string, env: Variables): readonly string[] {
  const portOf = (name: string) => /:(\d+)$/.exec(env[name] ?? '')?.[1]
  const peer = `http://${host}:${portOf('ETCD_LISTEN_PEER_URLS')}`
  const expected = {
    ETCD_NAME: host,
    ETCD_ADVERTISE_CLIENT_URLS: `http://${host}:${portOf('ETCD_LISTEN_CLIENT_URLS')}`,
    ETCD_INITIAL_ADVERTISE_PEER_URLS: peer,
  }
  const wrong = Object.entries(expected).filter(([name, value]) => env[name] !== value)
  const isMember = env['ETCD_INITIAL_CLUSTER']?.split(',').includes(`${host}=${peer}`) === true
  return [
    ...wrong.map(([name]) => `${host}: ${name} is ${env[name]}`),
    ...(isMember ? [] : [`${host}: not in ETCD_INITIAL_CLUSTER`]),
  ]
}

/** By the name that the variables have. */
function patroniPorts(): Readonly<Record<'RESTAPI' | 'POSTGRESQL', string | undefined>> {
  const { restapi, postgresql } = Bun.YAML.parse(read('deploy/cluster/patroni.yml')) as Record<
    string,
    { listen?: string }
  >
  const portOf = (listen = '') => listen.split(':').at(-1)
  return { RESTAPI: portOf(restapi?.listen), POSTGRESQL: portOf(postgresql?.listen) }
}

function nodeFaults(
  host: string,
  service: Service | undefined,
  secrets: Readonly<Record<string, Variables>>,
): readonly string[] {
  const image = environmentOf(readStages('Dockerfile').at(-1) as Stage)
  const faults: string[] = []
  let config: ReturnType<typeof readConfig>
  try {
    config = readConfig({ ...image, ...environmentFor(service, secrets) })
  } catch (error) {
    return [`${host}: ${error instanceof Error ? error.message : error}`]
  }
  const { cluster, port, host: listening, databaseUrl } = config
  const must = (is: boolean, fault: string) => void (is || faults.push(`${host}: ${fault}`))
  must(listening === '0.0.0.0', `the node listens on ${listening}`)
  must(cluster?.nodeId === host, `NODE_ID is ${cluster?.nodeId}`)
  must(cluster?.nodeUrl === `http://${host}:${port}`, `NODE_URL is ${cluster?.nodeUrl}, and PORT ${port}`)
  must(read('deploy/cluster/haproxy.cfg').includes(`server ${host} ${host}:${port}\n`), 'HAProxy asks elsewhere')
  const etcd = HOSTS.map((each) => `http://${each}:2379`)
  must(cluster?.etcd.origins.join() === etcd.join(), `CLUSTER_ETCD is ${cluster?.etcd.origins}`)
  const { POSTGRESQL } = patroniPorts()
  must(databaseUrl?.includes(HOSTS.map((each) => `${each}:${POSTGRESQL}`).join()) === true, 'DATABASE_URL is elsewhere')
  return faults
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}
