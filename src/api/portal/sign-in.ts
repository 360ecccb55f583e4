/** What somebody who has not signed in yet can ask: what a link opens, and how to sign in. From the page only. */
import { Type } from '@sinclair/typebox'
import { ROLES } from '../../core/catalogue/agency.ts'
import type { Operation } from '../../http/operation.ts'
import { choice, nullable, text } from '../../http/text-schema.ts'
import { CreationOptionsJson, RequestOptionsJson } from './passkey-json.ts'

const LINK_CHARS_MAX = 200
export const LINK_SECRET = text({
  minLength: 1,
  maxLength: LINK_CHARS_MAX,
  description: 'The secret of the link: what follows its last slash.',
})
const LINK_EXAMPLE = `hl_${'x'.repeat(72)}`

export const SHOW_LINK = {
  id: 'showLink',
  method: 'POST',
  path: '/portal/links',
  tag: 'Access',
  summary: 'See what a link opens',
  description: 'Does not use it up.',
  isOpen: true,
  isWrite: false,
  body: Type.Object({ link: LINK_SECRET }),
  bodyExample: { link: LINK_EXAMPLE },
  answer: {
    status: 200,
    description: 'Whom it lets in.',
    schema: Type.Object({
      kind: choice(['invitation', 'sign_in']),
      agency: Type.Object({ name: Type.String(), slug: Type.String() }),
      person: Type.Object({ name: Type.String(), role: choice(ROLES) }),
      expiresAt: Type.String({ format: 'date-time' }),
      options: nullable(CreationOptionsJson),
    }),
  },
  problems: ['VALIDATION', 'LINK_NOT_VALID', 'OIDC_ONLY', 'CROSS_ORIGIN', 'RATE_LIMITED', 'INTERNAL'],
} as const satisfies Operation

export const SIGN_IN_OPTIONS = {
  id: 'signInOptions',
  method: 'POST',
  path: '/portal/sign-in/options',
  tag: 'Access',
  summary: 'See how people sign in',
  isOpen: true,
  isWrite: false,
  answer: {
    status: 200,
    description: 'The same for everybody, but for the challenge.',
    schema: Type.Object({
      options: RequestOptionsJson,
      oidc: nullable(Type.Object({ name: Type.String({ description: 'Of the provider.' }) })),
      only: Type.Boolean({ description: 'Whether the provider is the only way in.' }),
      operator: Type.Boolean({
        description:
          'Whether the operator can sign in here, with the `PORTAL_TOKEN`: not where there is an `ADMIN_PORT`.',
      }),
    }),
  },
  problems: ['CROSS_ORIGIN', 'INTERNAL'],
} as const satisfies Operation
