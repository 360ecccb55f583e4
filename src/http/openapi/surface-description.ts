import type { Operation, PathParameter } from '../operation.ts'
import type { ProblemCode } from '../problem-table.ts'

/** What an OpenAPI document says about a surface as a whole, and how it describes each of its operations. */
export interface SurfaceDescription {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string }
  /** Tags and what they are about, in the order of the document. */
  readonly tags: Readonly<Record<string, string>>
  readonly securityScheme: SecurityScheme
  /** Any of these will do instead. */
  readonly otherSecuritySchemes?: readonly SecurityScheme[]
  /** Headers and parameters that operations refer to. */
  readonly components?: Readonly<Record<string, unknown>>
  readonly webhooks?: Readonly<Record<string, unknown>>
  /** Path parameters that mean the same in all operations, by their names. */
  readonly pathParameters?: Readonly<Record<string, PathParameter>>
  /** What every operation can answer, unless it is open. */
  readonly problems: readonly ProblemCode[]
  /** What every write can answer besides. */
  readonly problemsOfWrites?: readonly ProblemCode[]
  /** The name of the schema of a refusal. */
  problemName(code: ProblemCode): string
  /** How the schemas of several refusals with one status are combined. */
  readonly problemsJoined: 'oneOf' | 'anyOf'
  /** Names of the request headers that an operation takes, among the parameters of `components`. */
  requestHeaders?(operation: Operation): readonly string[]
  /** Headers and examples of answers are described too; left out, only bodies are. */
  readonly headers?: HeaderDescription
}

interface SecurityScheme {
  readonly name: string
  readonly scheme: Readonly<Record<string, unknown>>
}

interface HeaderDescription {
  /** Names of the headers that an answer of an operation has, among the headers of `components`. */
  ofAnswer(operation: Operation, status: number): readonly string[]
}
