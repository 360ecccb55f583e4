/** What makes a process a node of a cluster. CLUSTER_ETCD turns it on; without it nothing of src/cluster/ runs. */
import { readFileSync } from 'node:fs'
import type { EtcdTls } from '../cluster/etcd/etcd-client.ts'
import { type EtcdEndpoints, parseEtcdEndpoints } from '../cluster/etcd/etcd-endpoints.ts'

export interface ClusterConfig {
  readonly etcd: EtcdEndpoints
  readonly tls: EtcdTls
  readonly nodeId: string
  /** An origin, without a slash at its end. */
  readonly nodeUrl: string
  /** Authenticates forwarded requests. */
  readonly secret: string
}

const SECRET_LENGTH_MIN = 32

/** What a value must be, to complete "use …". */
export const CLUSTER_VALUES = {
  CLUSTER_ETCD: 'addresses of etcd such as http://a:2379,b:2379,c:2379 or https://user:password@a:2379,b:2379',
  CLUSTER_ETCD_CA: 'the path of a PEM file',
  CLUSTER_ETCD_CERT: 'the path of a PEM file',
  CLUSTER_ETCD_KEY: 'the path of a PEM file',
  NODE_ID: 'a name of at most 64 letters, digits, dots, dashes and underscores, such as node-a',
  NODE_URL: 'an address without a path at which the other nodes reach PORT, such as http://10.0.0.1:3000',
  CLUSTER_SECRET: `at least ${SECRET_LENGTH_MIN} visible ASCII characters without spaces, the same on every node`,
} as const

export type ClusterVariable = keyof typeof CLUSTER_VALUES

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
  const nodeUrl = read('NODE_URL', parseOrigin)
  const secret = read('CLUSTER_SECRET', parseSecret)
  const files = Object.entries(FILES).map(([part, name]) => [part, read(name, readFile)] as const)
  if (!env['CLUSTER_ETCD']) {
    for (const name of [...REQUIRED, ...Object.values(FILES)])
      if (env[name]) faults.push(`${name} is set, but CLUSTER_ETCD is not: use both, or remove ${name}.`)
    return null
  }
  for (const name of REQUIRED)
    if (!env[name]) faults.push(`${name} is required when CLUSTER_ETCD is set: use ${CLUSTER_VALUES[name]}.`)
  if (!env['DATABASE_URL'])
    faults.push('CLUSTER_ETCD is set, but DATABASE_URL is not: the built-in PostgreSQL has one process.')
  if (etcd === null || nodeId === null || nodeUrl === null || secret === null || faults.length > before) return null
  const tls: EtcdTls = Object.fromEntries(files.filter(([, text]) => text !== null))
  return Object.freeze({ etcd, tls, nodeId, nodeUrl, secret })
}

function parseNodeId(text: string): string | null {
  return /^[A-Za-z0-9][\w.-]{0,63}$/.test(text) ? text : null
}

function parseOrigin(text: string): string | null {
  const url = URL.parse(text)
  const isOrigin = url !== null && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
  return isOrigin ? url.origin : null
}

function parseSecret(text: string): string | null {
  return text.length >= SECRET_LENGTH_MIN && /^[\x21-\x7e]+$/.test(text) ? text : null
}

function readFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The fault names the variable and its value.
    return null
  }
}
