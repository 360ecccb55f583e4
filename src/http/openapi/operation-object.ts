/** An operation as its surface's OpenAPI document describes it. */
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { isWrite, type Operation, pathParameters } from '../operation.ts'
import { PROBLEMS, type ProblemCode } from '../problem-table.ts'
import { REFUSED_STAYS } from '../problems.ts'
import { BODY_BYTES_MAX, TOO_LARGE } from '../read-request.ts'
import type { SurfaceDescription } from './surface-description.ts'

const TITLE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'Malformed request',
  401: 'Missing or invalid credentials',
  403: 'Not permitted',
  404: 'Not found',
  409: 'Conflict',
  410: 'No longer there',
  412: 'Precondition failed',
  413: `Body larger than ${BODY_BYTES_MAX} bytes`,
  422: 'Request cannot be carried out',
  429: 'Rate limit or quota exceeded',
  500: 'Service failure',
}

/** @returns an OpenAPI Operation Object, its schemas not yet moved to `components` */
export function operationObject(operation: Operation, surface: SurfaceDescription): Record<string, unknown> {
  const { id, tag, summary, isOpen = false, role } = operation
  const description = descriptionOf(operation)
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(role === undefined ? {} : { 'x-required-role': role }),
    security: isOpen ? [] : securityOf(operation, surface),
    parameters: parametersOf(operation, surface),
    ...requestBodyOf(operation),
    responses: responsesOf(operation, surface),
  }
}

/** One of them suffices. */
function securityOf({ scope = null }: Operation, { securityScheme, otherSecuritySchemes = [] }: SurfaceDescription) {
  return [securityScheme, ...otherSecuritySchemes].map(({ name }) => ({ [name]: scope === null ? [] : [scope] }))
}

function descriptionOf({ description, role }: Operation): string | undefined {
  if (role === undefined) return description
  const required = role === 'operator' ? 'For the operator only.' : `Role: \`${role}\`.`
  return description === undefined ? required : `${description} ${required}`
}

function parametersOf(operation: Operation, surface: SurfaceDescription): unknown[] {
  const { path, query } = operation
  const known = { ...surface.pathParameters, ...operation.pathParameters }
  const required = query?.required ?? []
  return [
    ...pathParameters(path).map(({ name }) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', minLength: 1 },
      ...known[name],
    })),
    ...Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      description,
      schema,
    })),
    ...(surface.requestHeaders?.(operation) ?? []).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ]
}

function requestBodyOf({ body, isBodyOptional = false, bodyExample }: Operation): object {
  if (body === undefined) return {}
  const media = { schema: body, ...(bodyExample === undefined ? {} : { example: bodyExample }) }
  return { requestBody: { required: !isBodyOptional, content: { 'application/json': media } } }
}

function responsesOf(operation: Operation, surface: SurfaceDescription): Record<string, unknown> {
  const { answer, problems = [], body, isOpen = false } = operation
  const responses: Record<string, unknown> = {
    [answer.status]: {
      description: answer.description,
      ...headersOf(operation, surface, answer.status),
      content: { [answer.mediaType ?? 'application/json']: { schema: answer.schema }, ...streamOf(answer) },
    },
  }
  const { dryRun } = answer
  if (dryRun !== undefined)
    responses[dryRun.status] = {
      description: dryRun.description,
      ...headersOf(operation, surface, dryRun.status),
      content: { 'application/json': { schema: dryRun.schema } },
    }
  if (operation.isConditional === true)
    responses[304] = {
      description: 'Not modified: an entity tag in `If-None-Match` is current. There is no body.',
      ...headersOf(operation, surface, 304),
    }
  const codes = isOpen ? problems : [...problems, ...problemsOf(operation, surface), ...surface.problems]
  for (const status of new Set(codes.map((code) => PROBLEMS[code].status)))
    responses[status] = problemResponse(
      operation,
      surface,
      status,
      codes.filter((code) => PROBLEMS[code].status === status),
    )
  if (isOpen) responses['4XX'] = { description: 'Malformed HTTP request; the response has no body.' }
  if (body !== undefined) responses[413] = problemResponse(operation, surface, 413, ['VALIDATION'])
  return responses
}

function problemsOf(operation: Operation, { problemsOfWrites = [] }: SurfaceDescription): readonly ProblemCode[] {
  // Every valid token has at least the lowest role.
  const isForAll = operation.role === undefined || operation.role === 'viewer'
  return [...(isForAll ? [] : (['ROLE_MISSING'] as const)), ...(isWrite(operation) ? problemsOfWrites : [])]
}

function streamOf({ stream }: Operation['answer']): object {
  if (stream === undefined) return {}
  return { [stream.mediaType]: { schema: { type: 'string', description: stream.description } } }
}

function problemResponse(
  operation: Operation,
  surface: SurfaceDescription,
  status: number,
  codes: readonly ProblemCode[],
): object {
  const schemas = codes.map((code) =>
    isOfStays(operation, code) ? stayProblemSchema(code, surface) : problemSchema(code, surface),
  )
  const schema = schemas.length === 1 ? schemas[0] : { [surface.problemsJoined]: schemas }
  return {
    description: TITLE_OF_STATUS[status] ?? 'Refused',
    ...headersOf(operation, surface, status),
    content: {
      'application/json': {
        schema,
        ...(surface.headers === undefined ? {} : { examples: examplesOf(operation, codes, status) }),
      },
    },
  }
}

function problemSchema(code: ProblemCode, surface: SurfaceDescription): TObject {
  return Type.Object(
    {
      code: Type.Literal(code),
      title: Type.String({ description: 'Human-readable. Branch on `code` instead.' }),
      requestId: Type.String({ description: 'Same as the `X-Request-Id` header.' }),
      ...PROBLEMS[code].members,
    },
    { $id: surface.problemName(code), description: PROBLEMS[code].when },
  )
}

const REQUEST_ID = 'req_019a2b3c4d5e7f008192a3b4c5d6e7f8'
const TOO_LARGE_EXAMPLE = { title: TOO_LARGE.problem.title, ...TOO_LARGE.problem.members }

function isOfStays({ problemsOfStays = [] }: Operation, code: ProblemCode): boolean {
  return problemsOfStays.includes(code)
}

/** A code that every operation can answer with may also refuse something other than a stay: then it has no such members. */
function stayProblemSchema(code: ProblemCode, surface: SurfaceDescription): TSchema {
  const { stay, refusals } = REFUSED_STAYS
  const isOfAll = surface.problems.includes(code)
  const more = isOfAll ? { stay: Type.Optional(stay), refusals: Type.Optional(refusals) } : REFUSED_STAYS
  const { properties } = problemSchema(code, surface)
  const $id = `${surface.problemName(code)}OfStays`
  return Type.Object({ ...properties, ...more }, { $id, description: PROBLEMS[code].when })
}

const REFUSED_STAY = 1

function examplesOf(operation: Operation, codes: readonly ProblemCode[], status: number): object {
  return Object.fromEntries(
    codes.map((code) => {
      const { title: of, ...own } = status === 413 ? TOO_LARGE_EXAMPLE : PROBLEMS[code].example
      const isStay = status !== 413 && isOfStays(operation, code)
      const title = isStay ? `stays[${REFUSED_STAY}]: ${of}` : of
      const refusals = [{ stay: REFUSED_STAY, code, ...own }]
      const members = isStay ? { ...own, stay: REFUSED_STAY, refusals } : own
      return [code, { summary: PROBLEMS[code].when, value: { code, title, requestId: REQUEST_ID, ...members } }]
    }),
  )
}

function headersOf(operation: Operation, { headers }: SurfaceDescription, status: number): object {
  if (headers === undefined) return {}
  const names = headers.ofAnswer(operation, status)
  return { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) }
}
