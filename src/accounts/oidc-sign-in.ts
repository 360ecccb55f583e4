/**
 * Signing in with the operator's OpenID provider: authorization code flow with PKCE, state and nonce.
 *
 * - O2 The provider says who somebody is and nothing more: a verified e-mail opens the people who have it. No account is made.
 * - What belongs to one attempt is sealed in a cookie of the browser that began it, so any node completes it, and only that browser.
 */
import { hkdfSync } from 'node:crypto'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import { type Clock, HOUR_MS, MINUTE_MS } from '../lib/clock.ts'
import { Counts } from '../lib/counts.ts'
import { openText, sealText } from '../lib/sealed-text.ts'
import { clientNetworkOf } from './client-address.ts'
import { browserOf } from './person-links.ts'
import { WrongTokenThrottle } from './wrong-token-throttle.ts'

export interface OidcProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Whether people have no other way to sign in. The operator's token is one nevertheless. */
  readonly isOnly: boolean
}

/** `browser`: what the links are bound to. `unknown`: the provider did not say that a person's address is theirs. `failed`: there is no saying who it is. */
export type OidcOutcome =
  | { readonly kind: 'links'; readonly secrets: readonly string[]; readonly browser: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed' }

/** What may be logged of a failure: of the provider's answers only the codes of the standard. */
export interface OidcFailure {
  readonly step: 'discovery' | 'callback'
  readonly code: string
}

/** What is sealed in the cookie. */
interface Attempt {
  readonly issuer: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly startedAt: number
}

/** From the start to the callback: somebody types a password and a second factor. */
export const ATTEMPT_MS = 10 * MINUTE_MS
/** Each request to the provider. */
const PROVIDER_S_MAX = 10
/** Then the discovery document is read again. */
const DISCOVERED_MS = HOUR_MS
/** Callbacks that wait for the provider; further ones fail at once. */
const CALLBACKS_MAX = 32
/** From one address: an office behind it signs in, and somebody who floods the callback leaves places to others. */
const CALLBACKS_PER_ADDRESS_MAX = 8
/** Between two failures that are reported. */
const REPORTED_MS = 5_000
const SCOPE = 'openid email'
const BOUND_TO = 'oidc attempt'
/** Addresses are compared without regard to case, and outside of ASCII another letter can have the same lower case. */
const EMAIL = /^[\x21-\x7e]{3,254}$/

export class OidcSignIn {
  /** How the page names the provider. */
  readonly name: string
  readonly isOnly: boolean
  readonly #provider: OidcProvider
  readonly #redirectUri: () => string
  readonly #key: Uint8Array
  readonly #clock: Clock
  readonly #linksOf: (email: string, browser: string) => Promise<readonly string[]>
  readonly #onFailure: (failure: OidcFailure) => void
  #discovered: { readonly config: Promise<Configuration>; readonly atMs: number } | null = null
  /** In progress, by network. */
  readonly #callbacks = new Counts<string>()
  /** Whoever has failed often has the provider asked for nothing more, for a while: each request has the client's secret. */
  readonly #failures: WrongTokenThrottle
  #reportedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: {
    provider: OidcProvider
    /** Where the provider sends people back to. */
    redirectUri: () => string
    /** 32 bytes; the key of the cookie is derived from it. */
    secretKey: Uint8Array
    clock: Clock
    /**
     * The secrets of links that sign in, one for each person of an active agency with this address, without regard to case. Each is bound to
     * the browser.
     */
    linksOf: (email: string, browser: string) => Promise<readonly string[]>
    onFailure: (failure: OidcFailure) => void
  }) {
    this.#provider = options.provider
    this.name = new URL(options.provider.issuer).host
    this.isOnly = options.provider.isOnly
    this.#redirectUri = options.redirectUri
    this.#key = new Uint8Array(hkdfSync('sha256', options.secretKey, '', 'nightledger-oidc-cookie', 32))
    this.#clock = options.clock
    this.#linksOf = options.linksOf
    this.#onFailure = options.onFailure
    this.#failures = new WrongTokenThrottle({ clock: options.clock, onThrottled: () => {} })
  }

  /** Begins an attempt. @returns null when the provider cannot be reached */
  async start(): Promise<{ readonly location: string; readonly sealed: string } | null> {
    const config = await this.#discover().catch((error: unknown) => this.#failed('discovery', error))
    if (config === null) return null
    const attempt: Attempt = {
      issuer: this.#provider.issuer,
      state: randomState(),
      nonce: randomNonce(),
      verifier: randomPKCECodeVerifier(),
      startedAt: this.#clock.now(),
    }
    const location = buildAuthorizationUrl(config, {
      redirect_uri: this.#redirectUri(),
      scope: SCOPE,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    })
    return { location: location.href, sealed: sealText(this.#key, JSON.stringify(attempt), BOUND_TO) }
  }

  /**
   * Completes an attempt.
   * @param query of the callback, as the provider has made it
   * @param sealed the cookie; null: there is none
   * @param address of the client
   * @throws what looking for people rejects with
   */
  async finish(query: string, sealed: string | null, address: string): Promise<OidcOutcome> {
    const attempt = sealed === null ? null : this.#attemptIn(sealed)
    if (attempt === null || this.#failures.isOver(address)) return { kind: 'failed' }
    const network = clientNetworkOf(address)
    if (this.#callbacks.total >= CALLBACKS_MAX || this.#callbacks.of(network) >= CALLBACKS_PER_ADDRESS_MAX)
      return { kind: 'failed' }
    this.#callbacks.add(network)
    const email = await this.#emailOf(query, attempt)
      .catch((error: unknown) => {
        // It was asked, and refuses: not when somebody has changed their mind, or nobody answers.
        if (error instanceof ResponseBodyError) this.#failures.take(address)
        this.#failed('callback', error)
        return 'failed' as const
      })
      .finally(() => this.#callbacks.add(network, -1))
    if (email === 'failed') return { kind: 'failed' }
    if (email === null) return { kind: 'unknown' }
    const browser = browserOf(email)
    const secrets = await this.#linksOf(email, browser)
    return secrets.length === 0 ? { kind: 'unknown' } : { kind: 'links', secrets, browser }
  }

  /** Null unless this service began it with the present provider, a short time ago. */
  #attemptIn(sealed: string): Attempt | null {
    const text = openText(this.#key, sealed, BOUND_TO)
    if (text === null) return null
    const attempt = JSON.parse(text) as Attempt
    const ageMs = this.#clock.now() - attempt.startedAt
    return attempt.issuer === this.#provider.issuer && ageMs < ATTEMPT_MS ? attempt : null
  }

  /**
   * The address that the provider has verified; null when it has not.
   * @throws Error when the answers are not the provider's own to this attempt, or there are none
   */
  async #emailOf(query: string, { state, nonce, verifier }: Attempt): Promise<string | null> {
    const config = await this.#discover()
    const tokens = await authorizationCodeGrant(config, new URL(`${this.#redirectUri()}?${query}`), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) return null
    // Many providers name the address only here, or say only here that it is verified. Both claims are then from here: one says which
    // address the other has verified.
    const isInToken = claims['email'] !== undefined && claims['email_verified'] !== undefined
    const isElsewhere = !isInToken && config.serverMetadata().userinfo_endpoint !== undefined
    const source = isElsewhere ? await fetchUserInfo(config, tokens.access_token, claims.sub) : claims
    const { email, email_verified: isVerified } = source
    return isVerified === true && typeof email === 'string' && EMAIL.test(email) ? email : null
  }

  /** When it is first needed, so that a provider that is away does not keep the service from starting. A failure is not kept. */
  #discover(): Promise<Configuration> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#discovered !== null && nowMs - this.#discovered.atMs < DISCOVERED_MS) return this.#discovered.config
    const discovered = { config: discover(this.#provider), atMs: nowMs }
    this.#discovered = discovered
    discovered.config.catch(() => {
      if (this.#discovered === discovered) this.#discovered = null
    })
    return discovered.config
  }

  /** Reports it, but not so often that strangers could fill the log. */
  #failed(step: OidcFailure['step'], error: unknown): null {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#reportedAtMs < REPORTED_MS) return null
    this.#reportedAtMs = nowMs
    this.#onFailure({ step, code: codeOf(error) })
    return null
  }
}

/**
 * Asks the provider for its configuration.
 * @param timeout seconds
 * @throws if it does not answer, or names another issuer
 */
export async function discover(
  { issuer, clientId, clientSecret }: OidcProvider,
  timeout = PROVIDER_S_MAX,
): Promise<Configuration> {
  const server = new URL(issuer)
  const config = await discovery(server, clientId, clientSecret, authenticationOf(clientSecret), {
    timeout,
    execute: [
      // Of an id_token that comes straight from the provider, the library checks the signature only if told to.
      enableNonRepudiationChecks,
      ...(server.protocol === 'http:' ? [allowInsecureRequests] : []),
    ],
  })
  // For some providers with many tenants, the library lets each of them be the issuer: anybody can have a tenant.
  if (new URL(config.serverMetadata().issuer).href !== server.href)
    throw Object.assign(new Error('Cannot use the provider: it names another issuer'), { code: 'ISSUER_DIFFERS' })
  return config
}

/** RFC 6749 has every provider support the first, but some support the second alone. */
function authenticationOf(clientSecret: string): ReturnType<typeof ClientSecretBasic> {
  const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)]
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server
    const isPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
    return (isPost ? post : basic)(server, ...rest)
  }
}

/** The provider's own code, such as `invalid_client`, or else the library's or the socket's. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'UNKNOWN'
  const { error: ofProvider, code, cause } = error as Error & { error?: unknown; code?: unknown }
  if (typeof ofProvider === 'string') return /^[\w.-]{1,64}$/.test(ofProvider) ? ofProvider : 'UNKNOWN'
  if (cause instanceof Error && 'code' in cause) return codeOf(cause)
  return typeof code === 'string' ? code : error.name
}
