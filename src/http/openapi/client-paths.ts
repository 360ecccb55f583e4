/**
 * The types of a surface for its clients, made by the compiler from the operations that the routes validate with. In the shape that
 * openapi-fetch takes, which is that of an OpenAPI document: what `operation-object.ts` says to everyone else.
 */
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import type { BodyOf, Operation, PathOf, QueryOf } from '../operation.ts'
import type { PROBLEMS, ProblemCode } from '../problem-table.ts'
import type { ProblemBody, REFUSED_STAYS } from '../problems.ts'
import type { SurfaceDescription } from './surface-description.ts'

/**
 * `paths['/partner/v1/units/{slug}']['get']` with its parameters, its body, and its responses by their status.
 * @param O every operation of the surface, as a union
 * @param S the description of the surface
 */
export type ClientPaths<O extends Operation, S extends SurfaceDescription> = {
  [P in O['path']]: {
    [M in Extract<O, { path: P }>['method'] as Lowercase<M>]: Described<Extract<O, { path: P; method: M }>, S>
  }
}

type Described<O extends Operation, S extends SurfaceDescription> = {
  parameters: QueryIn<O> & PathIn<O> & HeaderIn<HeadersOf<O, S>> & { cookie?: never }
  responses: ResponsesOf<O, RefusalOf<O, S>>
} & RequestBodyOf<O>

type QueryIn<O> = O extends { query: TObject }
  ? Partial<QueryOf<O>> extends QueryOf<O>
    ? { query?: QueryOf<O> }
    : { query: QueryOf<O> }
  : { query?: never }

type PathIn<O> = keyof PathOf<O> extends never ? { path?: never } : { path: PathOf<O> }

type RequestBodyOf<O> = O extends { body: TSchema }
  ? O extends { isBodyOptional: true }
    ? { requestBody?: Json<BodyOf<O>> }
    : { requestBody: Json<BodyOf<O>> }
  : { requestBody?: never }

type HeaderIn<H> = keyof H extends never ? { header?: never } : { header?: H }
type HeadersOf<O, S> = (O extends { takesIdempotencyKey: false }
  ? unknown
  : IsWrite<O> extends true
    ? { 'Idempotency-Key'?: string }
    : unknown) &
  (O extends { isConditional: true } ? { 'If-None-Match'?: string } : unknown) &
  (412 extends StatusOf<OwnRefusalOf<O>> ? { 'If-Match'?: string } : unknown) &
  (O extends { answer: { stream: object } } ? { 'Last-Event-ID'?: string } : unknown) &
  (S extends { components: { parameters: { RequestId: unknown } } } ? { 'X-Request-Id'?: string } : unknown)

type ResponsesOf<O extends Operation, C extends ProblemCode> = Answer<O['answer']> &
  (O['answer'] extends { dryRun: infer A extends Answered } ? Answer<A> : unknown) &
  (O extends { isConditional: true } ? { 304: Empty } : unknown) &
  (O extends { isOpen: true } ? { '4XX': Empty } : unknown) &
  (O extends { body: TSchema } ? { 413: Response & Json<ProblemBody<'VALIDATION'>> } : unknown) & {
    [K in StatusOf<C>]: Response & Json<ProblemBody<WithStatus<C, K>> & OfStays<O>>
  }

/** The additional members of a refusal that is about the stays of a group. */
type OfStays<O> = O extends { problemsOfStays: readonly ProblemCode[] }
  ? { [N in keyof typeof REFUSED_STAYS]?: Static<(typeof REFUSED_STAYS)[N]> }
  : unknown

type Answered = Pick<Operation['answer'], 'status' | 'schema'>
type Answer<A extends Answered> = {
  [K in A['status']]: Response &
    (A extends { mediaType: infer M }
      ? { content: { [T in M & string]: Static<A['schema']> } }
      : Json<Static<A['schema']>, A extends { stream: { mediaType: infer M } } ? M : never>)
}

interface Response {
  headers: { [name: string]: unknown }
}
interface Empty extends Response {
  content?: never
}
type Json<T, Text = never> = { content: { 'application/json': T } & { [M in Text & string]: string } }

type IsWrite<O> = O extends { isWrite: false } ? false : O extends { method: 'GET' } ? false : true

type OwnRefusalOf<O> = O extends { problems: readonly (infer C extends ProblemCode)[] } ? C : never
type RefusalOf<O, S extends SurfaceDescription> =
  | OwnRefusalOf<O>
  | (O extends { isOpen: true }
      ? never
      : S['problems'][number] | RoleRefusalOf<O> | (IsWrite<O> extends true ? WriteRefusalIn<S> : never))
/** Every valid token has at least the lowest role. */
type RoleRefusalOf<O> = O extends { role: infer R } ? (R extends 'viewer' ? never : 'ROLE_MISSING') : never
type WriteRefusalIn<S> = S extends { problemsOfWrites: readonly (infer C extends ProblemCode)[] } ? C : never

type StatusOf<C extends ProblemCode> = (typeof PROBLEMS)[C]['status']
type WithStatus<C extends ProblemCode, K> = C extends ProblemCode ? (K extends StatusOf<C> ? C : never) : never
