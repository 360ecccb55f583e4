import type { AccessRefusal } from '../../access/partner-access.ts'
import type { Scope } from '../../core/catalogue/agency.ts'
import type { KeyHolder } from '../../core/catalogue/catalogue.ts'
import { unreachable } from '../../lib/assert.ts'
import { type Problem, problem } from './problems.ts'

/** The answer to a request without a valid API key (docs/contract.md#authentication, rule 9). */
export const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Missing or invalid API key: send the header Authorization: Bearer <API_KEY>',
  {},
)

const FEATURE_DISABLED = problem('FEATURE_DISABLED', "The agency's plan does not include API access", {})

/** The answer to a request with a valid key that is nevertheless not served. */
export function problemOfAccess(refusal: AccessRefusal): Problem {
  switch (refusal.code) {
    case 'FEATURE_DISABLED':
      return FEATURE_DISABLED
    case 'RATE_LIMITED': {
      const { limit, retryAfterS } = refusal
      const title = `Rate limit of ${limit} requests per minute exceeded: retry in ${retryAfterS} s`
      return problem('RATE_LIMITED', title, {}, { retryAfterS })
    }
    case 'LARGE_ANSWERS': {
      const { retryAfterS } = refusal
      const title = `Too many large answers to the agency already wait for their turn: retry in ${retryAfterS} s, and ask for fewer at once`
      return problem('RATE_LIMITED', title, {}, { retryAfterS })
    }
    case 'QUOTA_EXCEEDED': {
      const { quota, used, resetsAt, retryAfterS } = refusal
      const title = `Monthly quota of ${quota} requests exhausted: it resets at ${resetsAt}`
      return problem('QUOTA_EXCEEDED', title, { quota, used, resetsAt }, { retryAfterS })
    }
    default:
      return unreachable(refusal)
  }
}

/** Null when the key has the scope (docs/contract.md#authentication, rule 6). */
export function missingScope(holder: KeyHolder, scope: Scope): Problem | null {
  if (holder.key.scopes.includes(scope)) return null
  return problem('SCOPE_MISSING', `The API key does not have the scope ${scope}`, { scope })
}
