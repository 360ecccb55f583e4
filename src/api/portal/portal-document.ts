/** The OpenAPI 3.1 document of the portal, made of the definitions that the routes validate with. */
import { type TSchema, Type } from '@sinclair/typebox'
import { BODY_BYTES_MAX } from '../http/strict-json.ts'
import { normalised } from '../openapi/normalise.ts'
import { PROBLEMS, type ProblemCode } from '../problems/problems.ts'
import { type PortalOperation, pathParameters } from './portal-operation.ts'

const EVERY_ROUTE: readonly ProblemCode[] = ['VALIDATION', 'UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL']

const TAGS: Readonly<Record<string, string>> = {
  Agencies: 'Agencies, their plans and status.',
  Keys: 'The keys that partners authenticate with.',
  Units: 'Rental units, their prices and rules.',
  'Fee types': 'Fees included in every quote, and fees on request.',
  Bookings: 'Bookings of every type and status, with guest and notes.',
  Guests: 'Personal data.',
  'Audit and usage': 'Who did what, and how many requests were made.',
  Calendars: 'Unavailable nights, here and as iCalendar for channels.',
  Webhooks: 'Endpoints and their deliveries.',
}

const WHAT: Readonly<Record<string, string>> = {
  agencySlug: 'Slug of the agency.',
  unitSlug: 'Slug of the unit.',
  bookingId: 'Id of the booking.',
  guestId: 'Id of the guest.',
  keyId: 'Id of the API key.',
  feeTypeId: 'Id of the fee type.',
  endpointId: 'Id of the webhook endpoint.',
  deliveryId: 'Id of the delivery.',
}

/** @returns its text */
export function portalDocument(operations: readonly PortalOperation[]): string {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    const methods = paths[operation.path] ?? {}
    paths[operation.path] = { ...methods, [operation.method.toLowerCase()]: described(operation) }
  }
  return JSON.stringify(
    normalised({
      openapi: '3.1.0',
      info: {
        title: 'nightledger portal API',
        version: '1.0.0',
        summary: 'API for the agency and the operator',
        description: "Amounts are integers in the minor unit of the agency's currency. Dates are `YYYY-MM-DD`.",
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'This service' }],
      tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] ?? name })),
      paths,
      components: {
        securitySchemes: { portalToken: { type: 'http', scheme: 'bearer', description: 'The PORTAL_TOKEN.' } },
      },
    }),
  )
}

function described(operation: PortalOperation): Record<string, unknown> {
  const { id, tag, summary, description, body, isBodyOptional = false, bodyExample, answer } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: [{ portalToken: [] }],
    parameters: parametersOf(operation),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !isBodyOptional,
            content: {
              'application/json': { schema: body, ...(bodyExample === undefined ? {} : { example: bodyExample }) },
            },
          },
        }),
    responses: {
      [answer.status]: {
        description: answer.description,
        content: { 'application/json': { schema: answer.schema } },
      },
      ...problemResponses([...EVERY_ROUTE, ...(operation.problems ?? [])]),
      ...(body === undefined
        ? {}
        : { 413: problemResponse(['VALIDATION'], `The body is larger than ${BODY_BYTES_MAX} bytes.`) }),
    },
  }
}

function parametersOf({ path, query }: PortalOperation): unknown[] {
  const required = query?.required ?? []
  return [
    ...pathParameters(path).map(({ name }) => ({
      ...{ name, in: 'path', required: true, description: WHAT[name] ?? name },
      schema: { type: 'string', minLength: 1 },
    })),
    ...Object.entries(query?.properties ?? {}).map(([name, { description, ...schema }]) => ({
      ...{ name, in: 'query', required: required.includes(name), description, schema },
    })),
  ]
}

function problemResponses(codes: readonly ProblemCode[]): Record<number, unknown> {
  const responses: Record<number, unknown> = {}
  for (const status of new Set(codes.map((code) => PROBLEMS[code].status))) {
    const ofStatus = codes.filter((code) => PROBLEMS[code].status === status)
    responses[status] = problemResponse(ofStatus, ofStatus.map((code) => PROBLEMS[code].when).join(' '))
  }
  return responses
}

function problemResponse(codes: readonly ProblemCode[], description: string): unknown {
  const schemas = codes.map(problemSchema)
  const schema = schemas.length === 1 ? schemas[0] : Type.Union(schemas)
  return { description, content: { 'application/json': { schema } } }
}

function problemSchema(code: ProblemCode): TSchema {
  return Type.Object(
    {
      code: Type.Literal(code),
      title: Type.String({ description: 'Human-readable. Branch on `code` instead.' }),
      requestId: Type.String(),
      ...PROBLEMS[code].members,
    },
    { $id: `${code}_problem` },
  )
}
