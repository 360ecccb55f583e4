import { discover } from '../../accounts/oidc-sign-in.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { type Check, failure, ok, skipped } from './check.ts'

/** Less than a check may take. */
const ANSWER_S_MAX = 5

/** Whether the sign-in provider is reachable and has the configured issuer. */
export const signInProvider: Check = {
  name: 'sign-in-provider',
  run: async ({ config }) => {
    const { oidc } = config.signIn
    if (oidc === null) return [skipped('OIDC_ISSUER is not set.')]
    try {
      await discover(oidc, ANSWER_S_MAX)
      return [ok(`The provider at ${oidc.issuer} answers with its configuration.`)]
    } catch (error) {
      return [
        failure(
          `Nobody can sign in with the provider at ${oidc.issuer}: ${withCause(error)}.`,
          `Check OIDC_ISSUER and the network: \`curl -i ${oidc.issuer.replace(/\/$/, '')}/.well-known/openid-configuration\`.`,
        ),
      ]
    }
  },
}

function withCause(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : ''
  return `${reasonOf(error)}${cause}`
}
