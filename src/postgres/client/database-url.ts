/**
 * DATABASE_URL: `postgres://user:password@host:5432,other:5432/database?sslmode=verify-full&sslrootcert=/etc/ca.pem`, the form of libpq.
 * `URL` accepts only one host and postgres.js does not know `sslrootcert`, so both are read here.
 */
import { readFileSync } from 'node:fs'

export interface Host {
  readonly name: string
  readonly port: number
}

/** `ca`: certificates (PEM) of the authorities that are trusted; null: those of the system. */
export interface Tls {
  /** `require` encrypts and verifies nothing. `verify-ca` verifies the certificate, `verify-full` also its host name. */
  readonly mode: 'require' | 'verify-ca' | 'verify-full'
  readonly ca: string | null
}

export interface DatabaseUrl {
  /** At least one; in the order given. */
  readonly hosts: readonly Host[]
  /** The same for one of the hosts, without what is about TLS. */
  readonly url: string
  readonly database: string
  /** The role that logs in; empty: none is named. */
  readonly user: string
  /** Null: connections are not encrypted. */
  readonly tls: Tls | null
}

/** The URL cannot be used. The message completes "DATABASE_URL …" and never contains the password. */
export class DatabaseUrlError extends Error {
  override readonly name = 'DatabaseUrlError'
}

const PORT = 5432
/** Connections go to the primary anyway. */
const PRIMARY_ATTRIBUTES = ['primary', 'read-write']
/** Would silently not encrypt, or not verify. */
const UNSAFE_MODES = ['allow', 'prefer']

/**
 * @returns null when the text has another form
 * @throws DatabaseUrlError when it asks for what is not supported, or names a file that cannot be read
 */
export function parseDatabaseUrl(text: string): DatabaseUrl | null {
  const [, scheme, authority = '', rest = ''] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(text) ?? []
  const login = authority.slice(0, authority.lastIndexOf('@') + 1)
  if (!isDecodable(authority) || !isDecodable(rest.replace(/[?#].*/s, '')))
    throw new DatabaseUrlError('has a % that encodes nothing: write %25 for a % in a name or a password.')
  const hosts = authority.slice(login.length).split(',').map(parseHost)
  if (scheme === undefined || !hosts.every((host) => host !== null)) return null
  // Any host will do: which one is connected to is chosen each time.
  const url = URL.parse(`${scheme}${login}localhost${rest}`)
  if (url === null) return null
  const tls = takeTls(url.searchParams)
  takePrimary(url.searchParams)
  const [database, user] = [decodeURIComponent(url.pathname.slice(1)), decodeURIComponent(url.username)]
  return { hosts, url: url.href, database, user, tls }
}

/** Whether both lead to the same database, whatever user they name. */
export function isSameDatabase(one: string, other: string): boolean {
  const [a, b] = [one, other].map((url) => {
    const { hosts, database } = parseDatabaseUrl(url) ?? { hosts: [], database: '' }
    return `${hosts.map(hostText).sort().join()}/${database}`
  })
  return a === b
}

/** `db1:5432, db2:5432`, for messages. */
export function hostsText(hosts: readonly Host[]): string {
  return hosts.map(hostText).join(', ')
}

export function hostText({ name, port }: Host): string {
  return `${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Generated passwords have a % that nobody encoded. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function parseHost(text: string): Host | null {
  const [, address, name = address, port] = /^(?:\[([\da-f:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  if (name === undefined || Number(port) > 65_535) return null
  return { name: decodeURIComponent(name), port: port === undefined ? PORT : Number(port) }
}

function takeTls(parameters: URLSearchParams): Tls | null {
  const mode = take(parameters, 'sslmode')
  const file = take(parameters, 'sslrootcert')
  for (const name of ['sslcert', 'sslkey', 'sslcrl', 'sslnegotiation', 'ssl']) {
    if (parameters.has(name))
      throw new DatabaseUrlError(`has the parameter ${name}, which is not supported: remove it.`)
  }
  switch (mode) {
    case null:
    case 'disable':
      // Whoever names an authority believes that the server is verified.
      if (file !== null)
        throw new DatabaseUrlError('has the parameter sslrootcert without sslmode: add sslmode=verify-full.')
      return null
    case 'require':
      // As libpq does: with an authority, the certificate is verified.
      return file === null ? { mode, ca: null } : { mode: 'verify-ca', ca: readAuthority(file) }
    case 'verify-ca':
    case 'verify-full':
      return { mode, ca: file === null ? null : readAuthority(file) }
    default:
      throw new DatabaseUrlError(
        UNSAFE_MODES.includes(mode)
          ? `has sslmode=${mode}, which falls back to an unencrypted connection: use sslmode=verify-full, or disable.`
          : `has sslmode=${JSON.stringify(mode)}: use verify-full, verify-ca, require or disable.`,
      )
  }
}

function readAuthority(file: string): string | null {
  if (file === 'system') return null
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new DatabaseUrlError(`names the file ${file} as sslrootcert, which cannot be read: ${String(cause)}`, {
      cause,
    })
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new DatabaseUrlError(`names the file ${file} as sslrootcert, which contains no certificate in PEM format.`)
  return text
}

function takePrimary(parameters: URLSearchParams): void {
  const attributes = take(parameters, 'target_session_attrs')
  if (attributes !== null && !PRIMARY_ATTRIBUTES.includes(attributes))
    throw new DatabaseUrlError(`has target_session_attrs=${attributes}: only the primary can be used, so remove it.`)
}

function take(parameters: URLSearchParams, name: string): string | null {
  const value = parameters.get(name)
  parameters.delete(name)
  return value === '' ? null : value
}
