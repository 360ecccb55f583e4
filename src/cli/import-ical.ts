import type { Command } from 'commander'
import { FeedError, readFeed } from '../events/ical/feed.ts'
import { dayOf } from '../lib/clock.ts'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import { fetchFeed } from './feed-fetch.ts'
import { type FeedPlan, type FeedStep, type KnownBlock, type Note, planFeed } from './feed-plan.ts'
import { readText } from './flags.ts'
import { type Json, queryOf } from './portal-client.ts'
import { type Session, serviceCommand } from './session.ts'
import { cellOf } from './table.ts'
import type { Terminal } from './terminal.ts'
import { Progress } from './terminal.ts'

const CHANNEL = /^[a-z0-9][a-z0-9._-]{0,39}$/

interface Options {
  readonly unit: string
  readonly channel: string
  readonly keepMissing?: true
  readonly allowMassCancellation?: true
  readonly dryRun?: true
}

/** What the blocks of the feed have in common. */
interface Target {
  readonly unit: string
  readonly source: string
}

/** `bookings import-ical`: a channel's feed as `block` bookings, found again by their UIDs. */
export function importIcal(noun: Command, terminal: Terminal): void {
  serviceCommand<Options>(
    noun,
    {
      name: 'import-ical <file-or-url>',
      summary: "import a channel's iCalendar feed as blocks; run it again to apply later changes",
      options: (command) =>
        command
          .requiredOption('--unit <slug>', 'unit that the feed belongs to')
          .requiredOption('--channel <name>', 'name of the channel, such as airbnb; each channel has its own blocks')
          .option('--keep-missing', 'keep blocks whose event is no longer in the feed')
          .option(
            '--allow-mass-cancellation',
            'import the feed even if it has no events, or cancels more than half of three or more upcoming blocks',
          )
          .option('--dry-run', 'show what would be done, and change nothing'),
      examples: [
        'bookings import-ical https://www.airbnb.com/calendar/ical/123.ics?s=… --unit sea-view --channel airbnb',
        'bookings import-ical feed.ics --unit sea-view --channel vrbo --dry-run',
      ],
    },
    terminal,
    async (session, { arguments: [from = ''], options }) => {
      if (!CHANNEL.test(options.channel))
        throw new UsageError('--channel must be at most 40 lower-case letters, digits, dots and hyphens.')
      const { timezone } = (await session.client.get(await session.agencyPath()))['agency'] as { timezone: string }
      const source = `ical:${options.channel}`
      const events = read(await feedText(from), timezone)
      const today = dayOf(Date.now(), timezone)
      const plan = planFeed(events, await knownBlocks(session, options.unit, source), {
        today,
        keepMissing: options.keepMissing === true,
        allowMassCancellation: options.allowMassCancellation === true,
      })
      const isDryRun = options.dryRun === true
      if (plan.suspicion !== null && !isDryRun) throw suspected(plan.suspicion)
      const outcome: Outcome = isDryRun
        ? { done: [...plan.steps, ...plan.withheld], conflicts: [] }
        : await run(session, plan.steps, { unit: options.unit, source })
      report(session, plan, outcome, isDryRun)
      if (plan.suspicion !== null) throw suspected(plan.suspicion)
      if (outcome.conflicts.length + plan.refused.length > 0)
        throw new CliError('Some events of the feed were not imported; see above.', EXIT.refused)
    },
  )
}

function suspected(suspicion: string): CliError {
  return new CliError(
    `Cannot import the feed: ${suspicion}. Nothing was changed.\n` +
      'If the channel really has so few reservations left, run the command again with --allow-mass-cancellation.',
    EXIT.refused,
  )
}

function read(text: string, timezone: string) {
  try {
    return readFeed(text, { timezone })
  } catch (error) {
    throw error instanceof FeedError ? new CliError(cellOf(error.message)) : error
  }
}

async function feedText(from: string): Promise<string> {
  if (!/^https?:\/\//.test(from)) return readText(from)
  try {
    return await fetchFeed(from)
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    throw new CliError(`Cannot read the feed at ${new URL(from).host}: ${cellOf(reason)}`)
  }
}

async function knownBlocks(session: Session, unit: string, source: string): Promise<KnownBlock[]> {
  // Of an unknown unit the list would be empty, and every event would be refused one by one.
  await session.client.get(await session.agencyPath(`/units/${encodeURIComponent(unit)}`))
  const path = await session.agencyPath(`/bookings${queryOf({ unit, source, type: 'block' })}`)
  const blocks = await session.client.all(path, 'bookings')
  return blocks.filter(
    ({ status, sourceRef }) => status !== 'cancelled' && sourceRef !== null,
  ) as unknown as KnownBlock[]
}

interface Outcome {
  readonly done: readonly FeedStep[]
  readonly conflicts: readonly Note[]
}

async function run(session: Session, steps: readonly FeedStep[], target: Target): Promise<Outcome> {
  const done: FeedStep[] = []
  const agencyPath = await session.agencyPath()
  const progress = new Progress(session.terminal, 'events', steps.length)
  /** @returns the refusal, null when the step is done */
  const attempt = async (step: FeedStep): Promise<RefusedError | null> => {
    const { method, path, body } = writeOf(step, target)
    try {
      await session.client.send(method, agencyPath + path, body)
      done.push(step)
      return null
    } catch (error) {
      if (error instanceof RefusedError && error.status < 500) return error
      throw error
    }
  }
  // Of those that met taken nights: another step may have freed them.
  for (let left = steps; ; ) {
    const refused: { readonly step: FeedStep; readonly refusal: RefusedError }[] = []
    for (const step of left) {
      const refusal = await attempt(step)
      if (refusal !== null) refused.push({ step, refusal })
      else progress.step()
    }
    if (refused.length === left.length) {
      for (const _ of refused) progress.step()
      return { done, conflicts: refused.map(({ step, refusal }) => ({ uid: step.uid, reason: reasonOf(refusal) })) }
    }
    left = refused.map(({ step }) => step)
  }
}

function writeOf(step: FeedStep, target: Target): { method: string; path: string; body: Json } {
  switch (step.kind) {
    case 'cancel':
      return { method: 'POST', path: `/bookings/${step.id}/cancel`, body: { reason: step.reason } }
    case 'move': {
      const { id, arrival, departure } = step
      return { method: 'PATCH', path: `/bookings/${id}`, body: { arrival, departure } }
    }
    case 'create': {
      const { arrival, departure, sourceRef } = step
      const body = { ...target, type: 'block', status: 'confirmed', sourceRef, arrival, departure }
      return { method: 'POST', path: '/bookings', body }
    }
  }
}

function reasonOf({ body, code }: RefusedError): string {
  const conflict = body['conflict'] as { nights?: string[] } | undefined
  if (conflict?.nights === undefined) return `${code}: ${body['title']}`
  return `overlaps nights that are already booked: ${conflict.nights.join(', ')}`
}

function report(session: Session, plan: FeedPlan, { done, conflicts }: Outcome, isDryRun: boolean): void {
  const { unchanged, passedOver, refused } = plan
  const count = (kind: FeedStep['kind']) => done.filter((step) => step.kind === kind).length
  const totals: Json = {
    created: count('create'),
    moved: count('move'),
    cancelled: count('cancel'),
    unchanged,
    passedOver: passedOver.length,
    conflicts: conflicts.length,
    refused: refused.length,
  }
  if (session.isJson) {
    const steps = done.map((step) => {
      const { arrival, departure } = step.kind === 'cancel' ? { arrival: null, departure: null } : step
      return { uid: step.uid, step: step.kind, arrival, departure }
    })
    session.printJson({ isDryRun, ...totals, steps, details: { passedOver, conflicts, refused } })
    return
  }
  const { terminal } = session
  const said = Object.entries(totals).map(([name, n]) => `${n} ${name === 'passedOver' ? 'skipped' : name}`)
  terminal.out(`${isDryRun ? 'Would be: ' : ''}${said.join(', ')}\n`)
  const list = (what: string, notes: readonly Note[]) => {
    for (const { uid, reason } of notes) terminal.err(`${what.padEnd(8)}  ${cellOf(uid)}  ${cellOf(reason)}\n`)
  }
  if (isDryRun)
    list(
      'cancel',
      done.filter((step) => step.kind === 'cancel'),
    )
  list('conflict', conflicts)
  list('refused', refused)
  list('skipped', passedOver)
}
