/** An operation's OpenAPI description, as what a route carries for @elysiajs/swagger. */
import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { BODY_BYTES_MAX, TOO_LARGE } from '../http/strict-json.ts'
import type { Operation } from '../operation.ts'
import { PROBLEMS, type ProblemCode } from '../problems/problems.ts'

/** What every route with a key can answer beside its own (contract, Endpoints). */
const PROBLEMS_OF_EVERY_KEY: readonly ProblemCode[] = [
  'UNAUTHORIZED',
  'FEATURE_DISABLED',
  'SCOPE_MISSING',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'INTERNAL',
]

const TITLE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'Malformed request',
  401: 'Missing or invalid API key',
  403: 'Not permitted',
  404: 'Not found',
  409: 'Conflict',
  413: `Body larger than ${BODY_BYTES_MAX} bytes`,
  422: 'Request cannot be carried out',
  429: 'Rate limit or quota exceeded',
  500: 'Service failure',
}

/** Prefixes make the schema's name: `BOOKING_CONFLICT` is described as `BookingConflictProblem`. */
function problemSchema(code: ProblemCode): TSchema {
  const name = code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Type.Object(
    {
      code: Type.Literal(code),
      title: Type.String({ description: 'Human-readable. Branch on `code` instead.' }),
      requestId: Type.String({ description: 'Same as the `X-Request-Id` header.' }),
      ...PROBLEMS[code].members,
    },
    { $id: `${name}Problem`, description: PROBLEMS[code].when },
  )
}

/** The hook of a route: `.get(path, handler, described(OPERATION))`. */
export function described(operation: Operation): { detail: Record<string, unknown> } {
  const { id, tag, summary, description, scope, isWrite = false } = operation
  const isOpen = scope === 'none'
  return {
    detail: {
      operationId: id,
      tags: [tag],
      summary,
      ...(description === undefined ? {} : { description }),
      security: isOpen ? [] : [{ apiKey: scope === null ? [] : [scope] }],
      parameters: parametersOf(operation, isWrite),
      ...(operation.body === undefined ? {} : { requestBody: requestBodyOf(operation, operation.body) }),
      responses: responsesOf(operation, isOpen),
    },
  }
}

function parametersOf({ pathParameter, query }: Operation, isWrite: boolean): unknown[] {
  const parameters: unknown[] = []
  if (pathParameter !== undefined) {
    const { name, description, example } = pathParameter
    parameters.push({
      name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'string', minLength: 1 },
      example,
    })
  }
  const required = query?.required ?? []
  for (const [name, property] of Object.entries(query?.properties ?? {})) {
    const { description, ...schema } = property
    parameters.push({ name, in: 'query', required: required.includes(name), description, schema })
  }
  if (isWrite) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' })
  parameters.push({ $ref: '#/components/parameters/RequestId' })
  return parameters
}

function requestBodyOf({ isBodyOptional = false, bodyExample }: Operation, schema: TSchema): unknown {
  return {
    required: !isBodyOptional,
    content: { 'application/json': { schema, ...(bodyExample === undefined ? {} : { example: bodyExample }) } },
  }
}

function responsesOf({ answer, problems, body, isWrite }: Operation, isOpen: boolean): unknown {
  const headers = isOpen ? headerRefs(['X-Request-Id']) : headerRefs(RATE_HEADERS)
  const responses: Record<number, unknown> = {
    [answer.status]: {
      description: answer.description,
      headers: isWrite === true ? { ...headers, ...headerRefs(['Idempotency-Replayed']) } : headers,
      content: {
        'application/json': {
          schema: answer.schema,
          ...(answer.example === undefined ? {} : { example: answer.example }),
        },
      },
    },
  }
  const codes = isOpen ? problems : [...problems, ...PROBLEMS_OF_EVERY_KEY]
  for (const status of new Set(codes.map((code) => PROBLEMS[code].status).toSorted()))
    responses[status] = problemResponse(
      status,
      codes.filter((code) => PROBLEMS[code].status === status),
      headers,
    )
  if (isOpen) return { ...responses, '4XX': { description: 'Malformed HTTP request; the response has no body.' } }
  if (body !== undefined) responses[413] = problemResponse(413, ['VALIDATION'], headers)
  return responses
}

function problemResponse(status: number, codes: readonly ProblemCode[], headers: Record<string, unknown>): unknown {
  const schemas = codes.map(problemSchema)
  const [only] = schemas
  return {
    description: TITLE_OF_STATUS[status] ?? 'Refused',
    headers: problemHeaders(status, headers),
    content: {
      'application/json': {
        schema: schemas.length === 1 ? only : { oneOf: schemas },
        examples: Object.fromEntries(
          codes.map((code) => {
            const { title, ...members } = status === 413 ? TOO_LARGE_EXAMPLE : PROBLEMS[code].example
            return [code, { summary: PROBLEMS[code].when, value: { code, title, requestId: REQUEST_ID, ...members } }]
          }),
        ),
      },
    },
  }
}

function problemHeaders(status: number, headers: Record<string, unknown>): Record<string, unknown> {
  // Whose budget would it be?
  if (status === 401) return headerRefs(['X-Request-Id', 'WWW-Authenticate'])
  return status === 429 || status === 500 ? { ...headers, ...headerRefs(['Retry-After']) } : headers
}

const TOO_LARGE_EXAMPLE = { title: TOO_LARGE.problem.title, ...TOO_LARGE.problem.members }

const REQUEST_ID = 'req_019a2b3c4d5e7f008192a3b4c5d6e7f8'

const RATE_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
] as const

function headerRefs(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
