/** One operation of an HTTP surface, defined once: its route validates with it, and its OpenAPI description is made from it. */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { RequiredRole, Scope } from '../core/catalogue/agency.ts'
import type { ProblemCode } from './problem-table.ts'

export interface Operation<Q extends TObject = TObject, B extends TSchema = TSchema> {
  /** The `operationId`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Full path template, `/partner/v1/bookings/{id}`. The audit trail and the idempotency records name the route by it. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** The scope that an API key needs. Null: any valid key. Surfaces without keys leave it out. */
  readonly scope?: Scope | null
  /** The role that an access token needs. Surfaces without access tokens leave it out. */
  readonly role?: RequiredRole
  /** Further scopes that the key needs if the query has a certain parameter. */
  readonly scopesWith?: QueryScopes
  /** Its answer may be so large that it would have to wait (AnswerPace): when it would for too long, the request is refused at once. */
  readonly isLarge?: boolean
  /** A read with an entity tag: `If-None-Match` is looked at, and 304 is one of its answers. */
  readonly isConditional?: boolean
  /** Its answer has an entity tag, but is not to be kept. */
  readonly isTagged?: boolean
  /** `If-Match` is looked at. */
  readonly takesIfMatch?: boolean
  /** Readable without credentials. */
  readonly isOpen?: boolean
  /** Writes are recorded in the audit trail, refused ones too. Left out: every method but GET. */
  readonly isWrite?: boolean
  /** Whether a repeat with the same `Idempotency-Key` gets the first answer. Left out: that of every write does. */
  readonly takesIdempotencyKey?: false
  /** With `dryRun=true` in the query it only says what it would do: nothing is written, and nothing recorded. */
  readonly takesDryRun?: boolean
  /** Describes parameters in the path that the surface does not describe for all its operations. */
  readonly pathParameters?: Readonly<Record<string, PathParameter>>
  readonly query?: Q
  readonly body?: B
  readonly isBodyOptional?: boolean
  /** What GET answers has the body under this name: it is taken in that form too. */
  readonly bodyWithin?: string
  readonly bodyExample?: unknown
  readonly answer: {
    readonly status: 200 | 201 | 202
    readonly description: string
    readonly schema: TSchema
    /** Left out: JSON. */
    readonly mediaType?: 'text/plain'
    /** Instead of JSON, for clients that accept this media type only. */
    readonly stream?: { readonly mediaType: string; readonly description: string }
    /** Of a dry run, when it has a status of its own. */
    readonly dryRun?: { readonly status: 200; readonly description: string; readonly schema: TSchema }
  }
  /** Programs send it by themselves: it does not show that a person is there. */
  readonly isAutomatic?: boolean
  /** In addition to those of every route of the surface. */
  readonly problems?: readonly ProblemCode[]
  /** Those `problems` that can refuse the stays of a group, and then say which (`refusedStays`). */
  readonly problemsOfStays?: readonly ProblemCode[]
}

export interface QueryScopes {
  readonly parameter: string
  /** The scope by the value that needs it, alone or in a comma-separated list; a single scope: for any value. */
  readonly scopes: Readonly<Record<string, Scope>> | Scope
}

export interface PathParameter {
  readonly description: string
  readonly example?: string
}

export type QueryOf<O> = O extends { readonly query: infer Q extends TObject } ? Static<Q> : Record<never, never>
export type BodyOf<O> = O extends { readonly body: infer B extends TSchema } ? Static<B> : undefined
/** The parameters in the path by their names, `{ id: string }` for `/bookings/{id}`. */
export type PathOf<O> = O extends { readonly path: infer P extends string }
  ? Readonly<Record<ParameterIn<P>, string>>
  : never
type ParameterIn<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterIn<Rest>
  : never

/** Method and path template, as the audit trail and the idempotency records name a route. */
export function routeNameOf({ method, path }: Pick<Operation, 'method' | 'path'>): string {
  return `${method} ${path}`
}

export function isWrite({ method, isWrite = method !== 'GET' }: Operation): boolean {
  return isWrite
}

export function takesIdempotencyKey(operation: Operation): boolean {
  return operation.takesIdempotencyKey !== false && isWrite(operation)
}

/** The parameters in a path template, with their places among its segments. */
export function pathParameters(template: string): { name: string; segment: number }[] {
  return template
    .split('/')
    .flatMap((part, segment) => (part.startsWith('{') ? [{ name: part.slice(1, -1), segment }] : []))
}
