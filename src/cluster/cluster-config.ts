/** What makes a process a node of a cluster. CLUSTER_ETCD turns it on; without it nothing of src/cluster/ runs. */
import { readFileSync } from 'node:fs'
import { parseNodeUrl } from './cluster-keys.ts'
import type { EtcdTls } from './etcd/etcd-client.ts'
import { type EtcdEndpoints, parseEtcdEndpoints } from './etcd/etcd-endpoints.ts'
import { SECRETS_MAX } from './forward/hop.ts'

export interface ClusterConfig {
  readonly etcd: EtcdEndpoints
  readonly tls: EtcdTls
  readonly nodeId: string
  /** An origin, without a slash at its end. */
  readonly nodeUrl: string
  /** Authenticate forwarded requests: one, or two while it is changed. */
  readonly secrets: readonly string[]
}

const SECRET_LENGTH_MIN = 32

const PEM_FILE = 'the path of a PEM file that this process can read'

/** What a value must be, to complete "use …". */
export const CLUSTER_VALUES = {
  CLUSTER_ETCD: 'addresses of etcd such as http://a:2379,b:2379,c:2379 or https://user:password@a:2379,b:2379',
  CLUSTER_ETCD_CA: PEM_FILE,
  CLUSTER_ETCD_CERT: PEM_FILE,
  CLUSTER_ETCD_KEY: PEM_FILE,
  NODE_ID:
    'a name of at most 64 letters, digits, dots, dashes and underscores that begins with a letter or digit, such as node-a',
  NODE_URL: 'an address without a path at which the other nodes reach PORT, such as http://10.0.0.1:3000',
  CLUSTER_SECRET: `at least ${SECRET_LENGTH_MIN} visible ASCII characters without spaces or commas, the same on every node, or two such secrets separated by a comma`,
} as const

type ClusterVariable = keyof typeof CLUSTER_VALUES

/** Needed on a node, and by nothing else. */
const REQUIRED = ['NODE_ID', 'NODE_URL', 'CLUSTER_SECRET'] as const
const FILES = { ca: 'CLUSTER_ETCD_CA', cert: 'CLUSTER_ETCD_CERT', key: 'CLUSTER_ETCD_KEY' } as const

type Env = Readonly<Record<string, string | undefined>>

/**
 * @param read the value of a variable; null when it is not set, or wrong, in which case a fault is noted
 * @returns null without CLUSTER_ETCD, or when a fault is noted
 */
export function readClusterConfig(
  env: Env,
  faults: string[],
  read: <T>(name: ClusterVariable, parse: (text: string) => T | null) => T | null,
): ClusterConfig | null {
  const before = faults.length
  const etcd = read('CLUSTER_ETCD', parseEtcdEndpoints)
  const nodeId = read('NODE_ID', parseNodeId)
  const nodeUrl = read('NODE_URL', parseNodeUrl)
  const secrets = read('CLUSTER_SECRET', parseSecrets)
  const files = Object.entries(FILES).map(([part, name]) => [part, read(name, readFile)] as const)
  if (!env['CLUSTER_ETCD']) {
    for (const name of [...REQUIRED, ...Object.values(FILES)])
      if (env[name]) faults.push(`${name} is set, but CLUSTER_ETCD is not: use both, or remove ${name}.`)
    return null
  }
  for (const name of REQUIRED)
    if (!env[name]) faults.push(`${name} is required when CLUSTER_ETCD is set: use ${CLUSTER_VALUES[name]}.`)
  if (!env['CLUSTER_ETCD_CERT'] !== !env['CLUSTER_ETCD_KEY'])
    faults.push('Only one of CLUSTER_ETCD_CERT and CLUSTER_ETCD_KEY is set: set both or neither.')
  if (!env['DATABASE_URL'])
    faults.push('CLUSTER_ETCD is set, but DATABASE_URL is not: set it to a PostgreSQL that every node can reach.')
  if (etcd === null || nodeId === null || nodeUrl === null || secrets === null || faults.length > before) return null
  const tls: EtcdTls = Object.fromEntries(files.filter(([, text]) => text !== null))
  return Object.freeze({ etcd, tls, nodeId, nodeUrl, secrets })
}

function parseNodeId(text: string): string | null {
  return /^[A-Za-z0-9][\w.-]{0,63}$/.test(text) ? text : null
}

function parseSecrets(text: string): readonly string[] | null {
  const secrets = text.split(',')
  const isEach = secrets.every((secret) => secret.length >= SECRET_LENGTH_MIN && /^[\x21-\x7e]+$/.test(secret))
  return isEach && secrets.length <= SECRETS_MAX ? Object.freeze(secrets) : null
}

function readFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The fault names the variable and its value.
    return null
  }
}

/**
 * The node that a worker of a host is. Others reach it at the port that is so many after the host's own, because the workers share that.
 * @param worker its number, from 1
 */
export function nodeOfWorker(config: ClusterConfig, worker: number): ClusterConfig {
  const url = new URL(config.nodeUrl)
  const own = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  url.port = String(own + worker)
  return { ...config, nodeId: `${config.nodeId}.${worker}`, nodeUrl: url.origin }
}
