/** One operation of the portal, defined once: its route validates with it, and its OpenAPI description is made of it. */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { ProblemCode } from '../problems/problems.ts'

export const PORTAL_PREFIX = '/portal/v1'
/** Where everything of one agency is. */
export const AGENCY_PATH = '/portal/v1/agencies/{agencySlug}'

export interface PortalOperation<Q extends TObject = TObject, B extends TSchema = TSchema> {
  /** The `operationId`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Full path template with the parameters in braces; the audit trail names the route by it. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly query?: Q
  readonly body?: B
  readonly isBodyOptional?: boolean
  readonly bodyExample?: unknown
  readonly answer: { readonly status: 200 | 201; readonly description: string; readonly schema: TSchema }
  /** Beside 401, 400, 404 and 500, which every route can have. */
  readonly problems?: readonly ProblemCode[]
}

export type QueryOf<O> = O extends { readonly query: infer Q extends TObject } ? Static<Q> : Record<never, never>
export type BodyOf<O> = O extends { readonly body: infer B extends TSchema } ? Static<B> : undefined

/** Every method but GET is recorded in the audit trail. */
export function isWrite({ method }: PortalOperation): boolean {
  return method !== 'GET'
}

/** The names of the parameters in a path template, with their places among its segments. */
export function pathParameters(template: string): { name: string; segment: number }[] {
  return template
    .split('/')
    .flatMap((part, segment) => (part.startsWith('{') ? [{ name: part.slice(1, -1), segment }] : []))
}
