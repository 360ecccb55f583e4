import { Type } from '@sinclair/typebox'
import { changeLine, successLine } from '../../core/bookings/durable-writes.ts'
import { UNIT_EVENTS, WEBHOOK_EVENTS, type WebhookEventKind } from '../../core/domain/booking.ts'
import { refusalSentence, URL_LENGTH_MAX } from '../../events/webhooks/endpoint-url.ts'
import {
  DESCRIPTION_LENGTH_MAX,
  OVERLAP_HOURS_MAX,
  type WebhookEndpoint,
} from '../../events/webhooks/webhook-endpoint.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema, sliceOf } from '../../http/json/page.ts'
import { invalid, invalidField, notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice, nullable, text } from '../../http/text-schema.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'
import { newSecret } from './portal-schema.ts'
import { WebhookEndpointJson, webhookEndpointJson } from './webhook-json.ts'

export const ENDPOINT_PATH = `${AGENCY_PATH}/webhook-endpoints/{endpointId}` as const

const url = () =>
  text({
    minLength: 1,
    maxLength: URL_LENGTH_MAX,
    description: 'An https URL that is publicly reachable.',
  })
const description = () =>
  Type.Optional(nullable(text({ maxLength: DESCRIPTION_LENGTH_MAX, description: 'A name to recognise it by.' })))
const events = () =>
  Type.Optional(
    Type.Array(choice(WEBHOOK_EVENTS), {
      minItems: 1,
      maxItems: 50,
      description: `The events that the endpoint gets. \`${UNIT_EVENTS.join('` and `')}\` are sent only to endpoints that list them here.`,
    }),
  )
const endpointAnswer = {
  status: 200,
  description: 'The endpoint.',
  schema: Type.Object({ webhookEndpoint: WebhookEndpointJson }),
} as const
const withSecret = Type.Object({ webhookEndpoint: WebhookEndpointJson, secret: newSecret() })

const REGISTER = {
  id: 'createWebhookEndpoint',
  role: 'owner',
  method: 'POST',
  path: `${AGENCY_PATH}/webhook-endpoints`,
  tag: 'Webhooks',
  summary: 'Register a webhook endpoint',
  description:
    'The signing secret is shown only in this response. Without `events`, the endpoint gets the events of bookings.',
  body: Type.Object({ url: url(), description: description(), events: events() }),
  bodyExample: { url: 'https://example.com/hooks', description: 'Channel manager' },
  answer: {
    status: 201,
    description: 'The endpoint and its secret. The secret is not shown again.',
    schema: withSecret,
  },
} as const satisfies PortalOperation

const LIST = {
  id: 'listWebhookEndpoints',
  role: 'viewer',
  method: 'GET',
  path: `${AGENCY_PATH}/webhook-endpoints`,
  tag: 'Webhooks',
  summary: 'List webhook endpoints, newest first',
  query: Type.Object(PAGE_QUERY),
  answer: {
    status: 200,
    description: 'A page of results.',
    schema: pageSchema('webhookEndpoints', WebhookEndpointJson),
  },
} as const satisfies PortalOperation

const GET = {
  id: 'getWebhookEndpoint',
  role: 'viewer',
  method: 'GET',
  path: ENDPOINT_PATH,
  tag: 'Webhooks',
  summary: 'Get a webhook endpoint',
  answer: endpointAnswer,
} as const satisfies PortalOperation

const CHANGE = {
  id: 'changeWebhookEndpoint',
  role: 'owner',
  method: 'PATCH',
  path: ENDPOINT_PATH,
  tag: 'Webhooks',
  summary: 'Re-enable a webhook endpoint, or change its address, description or events',
  body: Type.Object({
    status: Type.Optional(choice(['active'], { description: 'Re-enables the endpoint; requires `pending`.' })),
    pending: Type.Optional(
      choice(['resend', 'drop'], {
        description: 'What to do with the deliveries that were held, and with the events that have waited.',
      }),
    ),
    url: Type.Optional(url()),
    description: description(),
    events: events(),
  }),
  bodyExample: { status: 'active', pending: 'resend' },
  answer: endpointAnswer,
} as const satisfies PortalOperation

const DELETE = {
  id: 'deleteWebhookEndpoint',
  role: 'owner',
  method: 'DELETE',
  path: ENDPOINT_PATH,
  tag: 'Webhooks',
  summary: 'Delete a webhook endpoint',
  description: 'Pending deliveries are dropped. After a 500, repeat the request until it returns 200 or 404.',
  answer: { ...endpointAnswer, description: 'The deleted endpoint.' },
} as const satisfies PortalOperation

const ROTATE = {
  id: 'rotateWebhookSecret',
  role: 'owner',
  method: 'POST',
  path: `${ENDPOINT_PATH}/rotate-secret`,
  tag: 'Webhooks',
  summary: 'Rotate the signing secret',
  description:
    'The new secret is shown only in this response. For `overlapHours`, messages are signed with both secrets. If it is rotated again ' +
    'meanwhile, the secret before these two is invalid at once.',
  body: Type.Object({
    overlapHours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_HOURS_MAX,
        default: 24,
        description: 'How long the old secret signs too.',
      }),
    ),
  }),
  isBodyOptional: true,
  bodyExample: { overlapHours: 24 },
  answer: {
    status: 200,
    description: 'The endpoint and its new secret. The secret is not shown again.',
    schema: withSecret,
  },
} as const satisfies PortalOperation

export const WEBHOOK_ENDPOINTS = [
  agencyRoute(REGISTER, async ({ ledger, agency, caller, keep, body }) => {
    const { url, description = null, events } = body
    const params = { url, description, ...(events === undefined ? {} : { events: inOrder(events) }) }
    const kept = keep.of((endpoint: WebhookEndpoint) => ({
      webhookEndpoint: webhookEndpointJson(endpoint),
      secret: null,
    }))
    const outcome = await ledger.webhooks.register(agency.id, params, successLine(ledger, caller), kept)
    if (outcome.kind === 'url_refused') return invalid([{ field: 'url', message: refusalSentence(outcome.refusal) }])
    if (outcome.kind === 'too_many')
      return invalidField(
        'url',
        `cannot be registered: the agency already has ${outcome.max} endpoints. Delete one first`,
      )
    return shownWithSecret(outcome)
  }),
  agencyRoute(LIST, async ({ ledger, agency, query }) => {
    const page = pageOf(query)
    const all = await ledger.webhooks.list(agency.id)
    const webhookEndpoints = sliceOf(all, page).map(webhookEndpointJson)
    return JSON.stringify({ webhookEndpoints, ...pageMembers(page, all.length) })
  }),
  agencyRoute(GET, async ({ ledger, agency, path: { endpointId } }) => {
    const endpoint = isIdShaped(endpointId) ? await ledger.webhooks.find(agency.id, endpointId) : null
    if (endpoint === null) return notFound('webhook endpoint')
    return JSON.stringify({ webhookEndpoint: webhookEndpointJson(endpoint) })
  }),
  agencyRoute(
    CHANGE,
    async ({ ledger, agency, caller, keep, path: { endpointId }, body }) => {
      if (!isIdShaped(endpointId)) return notFound('webhook endpoint')
      const { status, pending, url, description, events } = body
      if (status !== undefined && pending === undefined)
        return invalidField('pending', 'is required with status and must be one of resend, drop')
      if (status === undefined && pending !== undefined)
        return invalidField('status', 'is required with pending and must be active')
      const change = {
        ...(url === undefined ? {} : { url }),
        ...(description === undefined ? {} : { description }),
        ...(events === undefined ? {} : { events: inOrder(events) }),
        ...(pending === undefined ? {} : { pending }),
      }
      const line = changeLine(ledger, caller, keep.returned())
      const outcome = await ledger.webhooks.change(agency.id, endpointId, change, line)
      if (outcome.kind === 'url_refused') return invalid([{ field: 'url', message: refusalSentence(outcome.refusal) }])
      return outcome.kind === 'not_found' ? notFound('webhook endpoint') : shown(outcome)
    },
    { shown: ({ ledger }, kept) => shown({ endpoint: ledger.webhooks.keptEndpoint(kept) }) },
  ),
  agencyRoute(
    DELETE,
    async ({ ledger, agency, caller, keep, path: { endpointId } }) => {
      const endpoint = isIdShaped(endpointId)
        ? await ledger.webhooks.delete(agency.id, endpointId, changeLine(ledger, caller, keep.returned()))
        : null
      return endpoint === null ? notFound('webhook endpoint') : shown({ endpoint })
    },
    {
      // The first request may have been interrupted while it dropped what was pending: that is gone on with.
      shown: async ({ ledger, agency, caller, path: { endpointId } }, kept) => {
        await ledger.webhooks.delete(agency.id, endpointId, successLine(ledger, caller))
        return shown({ endpoint: ledger.webhooks.keptEndpoint(kept) })
      },
    },
  ),
  agencyRoute(
    ROTATE,
    async ({ ledger, agency, caller, keep, path: { endpointId }, body: { overlapHours = OVERLAP_HOURS_MAX } }) => {
      if (!isIdShaped(endpointId)) return notFound('webhook endpoint')
      const audit = changeLine(ledger, caller, keep.returned())
      const outcome = await ledger.webhooks.rotateSecret(agency.id, endpointId, { overlapHours }, audit)
      return outcome.kind === 'not_found' ? notFound('webhook endpoint') : shownWithSecret(outcome)
    },
    {
      shown: ({ ledger }, kept) => shownWithSecret({ endpoint: ledger.webhooks.keptEndpoint(kept), secret: null }),
    },
  ),
]

/** Without duplicates. */
function inOrder(events: readonly WebhookEventKind[]): readonly WebhookEventKind[] {
  return WEBHOOK_EVENTS.filter((event) => events.includes(event))
}

function shown({ endpoint }: { endpoint: WebhookEndpoint }): string {
  return JSON.stringify({ webhookEndpoint: webhookEndpointJson(endpoint) })
}

function shownWithSecret({ endpoint, secret }: { endpoint: WebhookEndpoint; secret: string | null }): string {
  return JSON.stringify({ webhookEndpoint: webhookEndpointJson(endpoint), secret })
}
