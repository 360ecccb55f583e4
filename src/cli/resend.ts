/** `webhooks resend`: one delivery, or those of an endpoint from a date on, part after part. */
import type { Command } from 'commander'
import { CliError, UsageError } from './exit-codes.ts'
import { spanOf } from './listen-source.ts'
import type { Json, PortalClient } from './portal-client.ts'
import { type Session, serviceCommand } from './session.ts'
import { listing } from './table.ts'
import type { Terminal } from './terminal.ts'

interface ResendOptions {
  readonly since?: string
  readonly failed?: boolean
  readonly until?: string
  readonly after?: string
}

export function addResend(noun: Command, terminal: Terminal): void {
  serviceCommand<ResendOptions>(
    noun,
    {
      name: 'resend <id>',
      summary: 'send a delivery again, or those of an endpoint since a date',
      description:
        'Send a delivery again, regardless of its outcome: same id and body, with a new retry schedule. With --since, the id is that of an ' +
        'endpoint, and its deliveries since then are sent again in parts. Ctrl-C stops between two parts.',
      examples: [
        'webhooks resend dlv_…',
        'webhooks resend whe_… --since 24h --failed',
        'webhooks resend whe_… --since 2027-03-01T00:00:00Z',
      ],
      options: (command) =>
        command
          .option('--since <time>', 'deliveries of an endpoint that were created since: a time, or 30m, 24h, 7d ago')
          .option('--failed', 'only those that were given up')
          .option('--until <time>', 'deliveries up to this time, as a stopped run says (default: now)')
          .option('--after <delivery>', 'continue after this delivery, as a stopped run says'),
    },
    terminal,
    async (session, { arguments: [id = ''], options }) => {
      if (options.since !== undefined) return resendSince(session, id, options, options.since)
      if (options.failed === true || options.after !== undefined || options.until !== undefined)
        throw new UsageError('--failed, --until and --after go with --since.')
      const path = await session.agencyPath(`/deliveries/${encodeURIComponent(id)}/resend`)
      const answer = await session.client.send('POST', path)
      if (session.isJson) session.printJson(answer)
      else session.terminal.out(listing(answer['delivery'] as Json))
    },
  )
}

async function resendSince(session: Session, id: string, options: ResendOptions, since: string): Promise<void> {
  const span = spanOf(since)
  const from = span === null ? since : new Date((await nowOf(session)) - span).toISOString()
  const path = await session.agencyPath(`/webhook-endpoints/${encodeURIComponent(id)}/resend`)
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal)
  try {
    const { until, after, failed = false } = options
    const first = { since: from, failedOnly: failed, ...(until && { until }), ...(after && { after }) }
    const done = await resendParts(session.client, path, first, {
      stop: stop.signal,
      onPart: ({ resent, remaining }) => session.terminal.err(`Sent again: ${resent}. Left to look at: ${remaining}\n`),
    })
    if (session.isJson) session.printJson(done)
    else session.terminal.out(`${done.resent} ${done.resent === 1 ? 'delivery is' : 'deliveries are'} sent again.\n`)
    if (done.remaining > 0)
      throw new CliError(
        `Stopped. To continue: --since ${from} --until ${done.until} --after ${done.after}${failed ? ' --failed' : ''}`,
      )
  } finally {
    process.off('SIGINT', onSignal)
  }
}

/** Of a sandbox, whose deliveries have its times: what its clock shows. */
async function nowOf(session: Session): Promise<number> {
  const { sandboxOf } = (await session.client.get(await session.agencyPath()))['agency'] as Json
  if (sandboxOf === null) return Date.now()
  const { now } = (await session.client.get(await session.agencyPath('/sandbox')))['clock'] as { now: string }
  return Date.parse(now)
}

interface Done {
  readonly resent: number
  readonly remaining: number
  readonly until: string | null
  readonly after: string | null
}

/**
 * One part after the other, each from where the last one ended, up to the `until` of the first: what fails again meanwhile is not sent again for ever.
 * @param options.stop is looked at between two parts
 */
export async function resendParts(
  client: Pick<PortalClient, 'send'>,
  path: string,
  first: Json,
  { stop, onPart }: { readonly stop: AbortSignal; readonly onPart: (sofar: Done) => void },
): Promise<Done> {
  let body = first
  for (let resent = 0; ; ) {
    const part = (await client.send('POST', path, body))['resend'] as Done
    resent += part.resent
    const done = { ...part, resent }
    onPart(done)
    if (part.remaining === 0 || stop.aborted) return done
    body = { ...first, until: part.until, after: part.after }
  }
}
