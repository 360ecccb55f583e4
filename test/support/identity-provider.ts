import { createServer } from 'node:http'
import type Provider from 'oidc-provider'
import type { OidcProvider } from '../../src/accounts/oidc-sign-in.ts'
import { freePort } from './free-port.ts'

/** What the provider says of somebody. */
interface Claims {
  readonly email?: unknown
  readonly email_verified?: unknown
}

export interface IdentityProvider extends OidcProvider {
  /** By the name that somebody signs in with. */
  readonly accounts: Map<string, Claims>
  /** Tokens issued so far. */
  readonly tokens: number
  /** Changes what the token endpoint answers; null: nothing. */
  tamper: ((tokens: { id_token: string }) => object) | null
  /** It can no longer be reached, until it is back. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

interface IdentityProviderOptions {
  readonly redirectUri: string
  /** Whether the e-mail is in the id_token already, and not only at the userinfo endpoint. */
  readonly isEmailInToken?: boolean
  /** Whether the id_token does not say if the e-mail is verified, and only the userinfo endpoint does. */
  readonly isVerifiedElsewhere?: boolean
  readonly authMethod?: 'client_secret_basic' | 'client_secret_post'
}

const LIFETIMES = ['AccessToken', 'AuthorizationCode', 'Grant', 'IdToken', 'Interaction', 'Session']

const signingKey = makeSigningKey()

/** A real OpenID provider (oidc-provider) on a free port of this machine, with one client. */
export async function startIdentityProvider({
  redirectUri,
  isEmailInToken = false,
  isVerifiedElsewhere = false,
  authMethod = 'client_secret_basic',
}: IdentityProviderOptions): Promise<IdentityProvider> {
  const port = freePort()
  const issuer = `http://127.0.0.1:${port}`
  const [clientId, clientSecret] = ['desk', 's'.repeat(40)]
  const accounts = new Map<string, Claims>()
  const provider = await makeProvider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: authMethod,
      },
    ],
    clientAuthMethods: [authMethod],
    ttl: Object.fromEntries(LIFETIMES.map((name) => [name, 600])),
    jwks: { keys: [await signingKey] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: !isEmailInToken,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: (use: string) => {
        const { email_verified: isVerified, ...claims } = accounts.get(id) ?? {}
        const isSaid = isVerified !== undefined && !(isVerifiedElsewhere && use === 'id_token')
        return { sub: id, ...claims, ...(isSaid && { email_verified: isVerified }) }
      },
    }),
    loadExistingGrant,
  })
  const state: { tokens: number; tamper: IdentityProvider['tamper'] } = { tokens: 0, tamper: null }
  provider.use(async (context, next) => {
    await next()
    if (context.oidc?.route !== 'token') return
    const body = context.body as { id_token: string }
    if (body.id_token === undefined) return
    state.tokens += 1
    if (state.tamper !== null) context.body = state.tamper(body)
  })
  const server = createServer(provider.callback())
  const listen = () => new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  await listen()
  return Object.assign(state, {
    issuer,
    clientId,
    clientSecret,
    isOnly: false,
    accounts,
    comeBack: listen,
    goAway: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

/** It tells on the console that it is not for production. */
async function makeProvider(issuer: string, configuration: object): Promise<Provider> {
  const { info, warn } = console
  Object.assign(console, { info: () => {}, warn: () => {} })
  try {
    const { default: Real } = await import('oidc-provider')
    return new Real(issuer, configuration)
  } finally {
    Object.assign(console, { info, warn })
  }
}

async function makeSigningKey(): Promise<object> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2_048, publicExponent: Uint8Array.of(1, 0, 1) }
  const { privateKey } = await crypto.subtle.generateKey({ ...algorithm, hash: 'SHA-256' }, true, ['sign', 'verify'])
  const { key_ops: _, ...key } = await crypto.subtle.exportKey('jwk', privateKey)
  return { ...key, alg: 'RS256', use: 'sig', kid: 'test' }
}

/** Nobody is asked for consent: the operator has given it for everybody. */
const loadExistingGrant = async ({ oidc }: Parameters<Parameters<Provider['use']>[0]>[0]) => {
  if (oidc === undefined) return undefined
  const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
  grant.addOIDCScope('openid email')
  await grant.save()
  return grant
}

/** A browser without a page: it keeps cookies by host, as browsers do, whatever the port and the path, and stops where it is told to. */
export class Wanderer {
  readonly #cookies = new Map<string, Map<string, string>>()

  /** The one answer to a request, whose cookies are kept. */
  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const { hostname } = new URL(url)
    const jar = this.#cookies.get(hostname) ?? new Map<string, string>()
    this.#cookies.set(hostname, jar)
    const headers = new Headers(init.headers)
    if (jar.size > 0) headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const mark = pair.indexOf('=')
      const [name, value] = [pair.slice(0, mark), pair.slice(mark + 1)]
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  cookie(url: string, name: string): string | undefined {
    return this.#cookies.get(new URL(url).hostname)?.get(name)
  }

  setCookie(url: string, name: string, value: string): void {
    this.#cookies.get(new URL(url).hostname)?.set(name, value)
  }

  /** Signs in at a provider. @returns where the provider sends the browser in the end */
  async signInAt(authorizationUrl: string, login: string): Promise<string> {
    const { host } = new URL(authorizationUrl)
    let [url, init]: [string, RequestInit] = [authorizationUrl, {}]
    for (let step = 0; step < 10; step += 1) {
      const response = await this.open(url, init)
      const page = await response.text()
      const location = response.headers.get('location')
      const form = /action="([^"]+)"/.exec(page)?.[1]
      if (location === null && form === undefined) throw new Error(`The provider answered ${response.status}: ${page}`)
      url = new URL(location ?? form ?? '', url).href
      init =
        location === null
          ? { method: 'POST', body: new URLSearchParams({ prompt: 'login', login, password: 'x' }) }
          : {}
      if (new URL(url).host !== host) return url
    }
    throw new Error('The provider did not finish a sign-in in ten steps')
  }
}
