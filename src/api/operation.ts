/** One operation of an HTTP surface, defined once: its route validates with it, and its OpenAPI description is made of it. */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { Scope } from '../core/catalogue/agency.ts'
import type { ProblemCode } from './problems/problems.ts'

export interface OperationAnswer {
  readonly status: 200 | 201
  readonly description: string
  readonly schema: TSchema
  readonly example?: unknown
}

export interface Operation<Q extends TObject = TObject, B extends TSchema = TSchema> {
  /** The `operationId`. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Full path template, `/partner/v1/bookings/{id}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** `none`: readable without a key. Null: any valid key. */
  readonly scope: Scope | null | 'none'
  /** Recorded in the audit trail, refusals too, and may carry an `Idempotency-Key`. */
  readonly isWrite?: boolean
  /** What the parameter in the path names. */
  readonly pathParameter?: { readonly name: string; readonly description: string; readonly example: string }
  readonly query?: Q
  readonly body?: B
  readonly isBodyOptional?: boolean
  readonly bodyExample?: unknown
  readonly answer: OperationAnswer
  /** Beside those that every route with a key can have. */
  readonly problems: readonly ProblemCode[]
}

export type QueryOf<O> = O extends { readonly query: infer Q extends TObject } ? Static<Q> : Record<never, never>
export type BodyOf<O> = O extends { readonly body: infer B extends TSchema } ? Static<B> : undefined

/** Method and path template, as the audit trail and the idempotency records name a route. */
export function routeNameOf(operation: Operation): string {
  return `${operation.method} ${operation.path}`
}
