/** The composition root of webhooks: the agency's commands in this process, the sender in a process of its own. */

import { isSandbox } from '../core/catalogue/agency.ts'
import { timeOf } from '../core/catalogue/agency-time.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { BOOKING_EVENTS, UNIT_EVENTS, type WebhookEventKind } from '../core/domain/booking.ts'
import { guardedPost } from '../events/webhooks/guarded-post.ts'
import { DnsResolver } from '../events/webhooks/name-resolver.ts'
import { SecretBox } from '../events/webhooks/secret-box.ts'
import { type SenderExit, SenderProcess } from '../events/webhooks/sender-process.ts'
import { WebhookCommands } from '../events/webhooks/webhook-commands.ts'
import { AgenciesWithEndpoints } from '../events/webhooks/woken-agencies.ts'
import type { TraceSettings } from '../lib/tracer.ts'
import { PostgresEndpointRows } from '../postgres/stores/postgres-endpoint-rows.ts'
import type { Ledger } from './ledger.ts'
import { selfCommand } from './self-command.ts'
import { SEND_WEBHOOKS } from './send-webhooks.ts'

interface WebhookOptions {
  readonly databaseUrl: string
  /** 32 bytes. */
  readonly secretKey: Uint8Array
  /** `host:port`, lower case. */
  readonly allowHosts: readonly string[]
  readonly logLevel: string
  /** Left out or null: tracing is off. */
  readonly traces?: TraceSettings | null
  /** PEM. Tests use their own authorities. */
  readonly trustedCa?: readonly string[]
  /** The sender ended unexpectedly and is restarted after `restartMs`. */
  onSenderExit(fields: SenderExit): void
}

export interface Webhooks {
  /** The commands that the portal's routes call. */
  readonly commands: WebhookCommands
  /** The metrics page reads its `stats`. */
  readonly sender: SenderProcess
  /** Call it after each change of a booking of the agency. */
  bookingChanged(agencyId: string): void
  /** Likewise for a change of a unit that fires an event. */
  unitChanged(agencyId: string): void
  /** Starts the sender; `sender.stop` ends it. Until then nothing is sent, and nothing is lost. */
  start(): void
}

/** Call `start` when the ledger has been taken over, and `bookingChanged` and `unitChanged` after each change. */
export function openWebhooks(
  ledger: Pick<Ledger, 'sql' | 'lists' | 'clock' | 'newId' | 'catalogue' | 'epochOf' | 'ownership'>,
  options: WebhookOptions,
): Webhooks {
  const { databaseUrl, secretKey, allowHosts, logLevel, traces = null, trustedCa = null } = options
  const sender = new SenderProcess({
    settings: {
      databaseUrl,
      allowHosts,
      logLevel,
      traces,
      trustedCa,
      secretKeyHex: Buffer.from(secretKey).toString('hex'),
      // A getter, because the epoch may have increased by the time the sender is restarted.
      get epoch() {
        return ledger.ownership.epoch()
      },
    },
    command: selfCommand(SEND_WEBHOOKS),
    clock: ledger.clock,
    onExit: options.onSenderExit,
  })
  const { ownership } = ledger
  const forBookings = { ofEvents: BOOKING_EVENTS, agencies: new AgenciesWithEndpoints() }
  const forUnits = { ofEvents: UNIT_EVENTS, agencies: new AgenciesWithEndpoints() }
  const start = () => {
    sender.start()
    ownership.sendWith(sender)
    // A node does not know of agencies that it acquires later. Until they are loaded, or if loading fails, every change wakes the sender.
    if (ownership.owned() !== 'all') return
    const rows = new PostgresEndpointRows(ledger.sql, ledger.lists, (agencyId) => ledger.epochOf(agencyId))
    for (const { ofEvents, agencies } of [forBookings, forUnits])
      rows.agencies(ofEvents).then(
        (agencyIds) => agencies.load(agencyIds),
        () => {},
      )
  }
  const commands = openWebhookCommands(ledger, {
    ...options,
    onChange: (changed) => sender.endpointChanged(changed),
    onEvents: (agencyId, events) => {
      for (const { ofEvents, agencies } of [forBookings, forUnits])
        if (ofEvents.some((event) => events.includes(event))) agencies.add(agencyId)
    },
  })
  const wakeIf = (agencies: AgenciesWithEndpoints) => (agencyId: string) => {
    if (agencies.mayInclude(agencyId)) sender.wake(agencyId)
  }
  const [bookingChanged, unitChanged] = [wakeIf(forBookings.agencies), wakeIf(forUnits.agencies)]
  return { commands, sender, bookingChanged, unitChanged, start }
}

/** The commands without a sender: their changes are sent by a sender elsewhere, or not at all. */
export function openWebhookCommands(
  ledger: Pick<Ledger, 'sql' | 'lists' | 'clock' | 'newId' | 'epochOf'> & {
    readonly catalogue: Pick<Catalogue, 'agencyById'>
  },
  options: Pick<WebhookOptions, 'secretKey' | 'allowHosts' | 'trustedCa'> & {
    onChange?: (change: { agencyId: string; endpointId: string }) => void
    onEvents?: (agencyId: string, events: readonly WebhookEventKind[]) => void
  },
): WebhookCommands {
  const { secretKey, allowHosts, trustedCa, onChange = () => {}, onEvents = () => {} } = options
  const { sql, clock, newId, catalogue } = ledger
  const resolver = new DnsResolver()
  return new WebhookCommands({
    rows: new PostgresEndpointRows(sql, ledger.lists, (agencyId) => ledger.epochOf(agencyId)),
    resolver,
    post: guardedPost({ resolver, allowHosts, ...(trustedCa === undefined ? {} : { trustedCa }) }),
    box: new SecretBox(secretKey),
    clock,
    isSandbox: (agencyId) => isSandbox(catalogue.agencyById(agencyId) ?? {}),
    timeOf: (agencyId) => timeOf(catalogue.agencyById(agencyId) ?? {}, clock),
    newId,
    allowHosts,
    onChange,
    onEvents,
  })
}
