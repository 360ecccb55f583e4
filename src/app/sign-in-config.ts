/** How people are let in besides: the provider that they sign in with, and the server that mails them invitations. */
import { isIPv4 } from 'node:net'
import type { OidcProvider } from '../accounts/oidc-sign-in.ts'
import type { MailServer } from '../accounts/smtp-mailer.ts'

export interface SignInConfig {
  /** null: nobody signs in with a provider. */
  readonly oidc: OidcProvider | null
  /** null: no mail is sent. */
  readonly mail: MailConfig | null
}

interface MailConfig {
  readonly server: MailServer
  /** The sender, as `MAIL_FROM` has it. */
  readonly from: { readonly name: string; readonly address: string }
}

const SWITCH = 'true or false'

/** What a value must be, to complete "use …". */
export const SIGN_IN_VALUES = {
  OIDC_ISSUER:
    'the https:// URL of the provider, such as https://login.example.com, or an http:// one on a loopback address; without a query',
  OIDC_CLIENT_ID: 'the client id that the provider has issued',
  OIDC_CLIENT_SECRET: 'the client secret that the provider has issued',
  OIDC_ONLY: SWITCH,
  SMTP_URL:
    'a URL such as smtps://user:password@mail.example.com:465, or smtp:// for STARTTLS, with percent-encoded credentials and without a path',
  MAIL_FROM: 'an address such as desk@example.com, or one with a name: Example Rentals <desk@example.com>',
} as const

type SignInVariable = keyof typeof SIGN_IN_VALUES
type Read = <T>(name: SignInVariable, parse: (text: string) => T | null) => T | null
type Env = Readonly<Record<string, string | undefined>>

/** @param read the value of a variable; null when it is not set, or wrong, in which case a fault is noted */
export function readSignInConfig(env: Env, faults: string[], read: Read): SignInConfig {
  return { oidc: readOidc(env, faults, read), mail: readMail(env, faults, read) }
}

const OIDC_SET = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const
const MAIL_SET = ['SMTP_URL', 'MAIL_FROM'] as const

function readOidc(env: Env, faults: string[], read: Read): OidcProvider | null {
  const issuer = read('OIDC_ISSUER', parseIssuer)
  const clientId = read('OIDC_CLIENT_ID', parseVisible)
  const clientSecret = read('OIDC_CLIENT_SECRET', parseVisible)
  const isOnly = read('OIDC_ONLY', (text) => (text === 'true' ? true : text === 'false' ? false : null)) ?? false
  mustBeWhole(env, faults, OIDC_SET)
  if (isOnly && !env['OIDC_ISSUER'])
    faults.push('OIDC_ONLY is set, but OIDC_ISSUER is not: nobody could sign in. Use both, or remove OIDC_ONLY.')
  if (issuer === null || clientId === null || clientSecret === null) return null
  return Object.freeze({ issuer, clientId, clientSecret, isOnly })
}

function readMail(env: Env, faults: string[], read: Read): MailConfig | null {
  const server = read('SMTP_URL', parseMailServer)
  const from = read('MAIL_FROM', parseSender)
  mustBeWhole(env, faults, MAIL_SET)
  return server === null || from === null ? null : Object.freeze({ server, from })
}

/** Either all of them are set, or none. */
function mustBeWhole(env: Env, faults: string[], names: readonly SignInVariable[]): void {
  const present = names.filter((name) => env[name])
  if (present.length === 0) return
  for (const name of names)
    if (!env[name]) faults.push(`${name} is required when ${present[0]} is set: use ${SIGN_IN_VALUES[name]}.`)
}

/** As it is written: a provider with a slash at its end is another one than that without. */
function parseIssuer(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '' || /[?#\s]/.test(text)) return null
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) return null
  return text
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

function parseVisible(text: string): string | null {
  return /^[\x21-\x7e]+$/.test(text) ? text : null
}

const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 }

function parseMailServer(text: string): MailServer | null {
  const url = URL.parse(text)
  const fallback = url === null ? undefined : PORTS[url.protocol]
  if (url === null || fallback === undefined || url.hostname === '' || /[?#\s]/.test(text)) return null
  if (!['', '/'].includes(url.pathname) || (url.username === '') !== (url.password === '')) return null
  const login = loginIn(url)
  if (login === null) return null
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isEncrypted = url.protocol === 'smtps:'
  return Object.freeze({
    host,
    port: url.port === '' ? fallback : Number(url.port),
    security: isEncrypted ? 'tls' : isLoopback(url.hostname) ? 'none' : 'starttls',
    login: login.user === '' ? null : login,
  })
}

function loginIn({ username, password }: URL): { user: string; password: string } | null {
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    // A percent sign that encodes nothing.
    return null
  }
}

const SENDER = /^(?:([^<>"\p{Cc}]*)<([^<>\s]+)>|([^<>\s]+))$/u
const ADDRESS = /^[\x21-\x7e]{1,64}@[\w.-]{1,190}$/

function parseSender(text: string): MailConfig['from'] | null {
  const [, name = '', inBrackets, bare] = SENDER.exec(text.trim()) ?? []
  const address = inBrackets ?? bare
  if (address === undefined || !ADDRESS.test(address)) return null
  return Object.freeze({ name: name.trim(), address })
}
