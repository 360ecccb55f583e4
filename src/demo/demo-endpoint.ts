import { changeLine } from '../core/bookings/durable-writes.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { WebhookCommands } from '../events/webhooks/webhook-commands.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { DEMO_CALLER } from './demo-diary.ts'

/**
 * Where the demo's events go: to nobody. Names below `.invalid` never resolve (RFC 2606), so every attempt fails before anything leaves
 * the machine, and the endpoint is soon switched off, with events that wait. To be in WEBHOOK_ALLOW_HOSTS: an address that does not
 * resolve cannot be registered.
 */
export const DEMO_ENDPOINT_HOST = 'hooks.website.invalid:443'

export const DEMO_ENDPOINT = {
  url: `https://${DEMO_ENDPOINT_HOST}/nightledger`,
  description: 'Website before its move',
} as const

/** Registers the demo's endpoint, unless an interrupted run has. */
export async function ensureDemoEndpoint(
  agency: Agency,
  webhooks: Pick<WebhookCommands, 'register' | 'list'>,
  source: { readonly clock: Clock; readonly newId: IdSource },
): Promise<void> {
  if ((await webhooks.list(agency.id)).length > 0) return
  const line = changeLine(source, DEMO_CALLER, undefined)
  const outcome = await webhooks.register(agency.id, DEMO_ENDPOINT, line)
  if (outcome.kind !== 'registered') throw new Error('Cannot make the demo: its webhook endpoint was refused')
}
