import type { Command } from 'commander'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import { type Folder, readFolder } from './folder.ts'
import { type Existing, type Plan, planImport, type Refusal, type Step } from './import-plan.ts'
import type { Json } from './portal-client.ts'
import { type Session, serviceCommand } from './session.ts'
import { cellOf } from './table.ts'
import type { Terminal } from './terminal.ts'
import { Progress } from './terminal.ts'

/** Requests in progress at once; each unit takes one write at a time anyway. */
const AT_ONCE = 8
/** Units before what refers to them. */
const ORDER = ['units', 'rates', 'restrictions', 'fee-types', 'bookings'] as const

export function importFolder(program: Command, terminal: Terminal): void {
  serviceCommand<{ dryRun?: true }>(
    program,
    {
      name: 'import <folder>',
      summary: 'import an agency from a folder of JSON or CSV files; running it again changes nothing',
      options: (command) => command.option('--dry-run', 'show what would be done, and change nothing'),
      examples: ['import ./harbour --agency harbour --dry-run', 'import ./harbour'],
    },
    terminal,
    async (session, { arguments: [path = ''], options }) => {
      const isDryRun = options.dryRun === true
      const members = (await import('./operations.ts')).folderMembers()
      const folder = readFolder(path, members)
      const slug = options.agency ?? folder.agency?.['slug'] ?? (await session.agencySlug())
      const agencyPath = `/agencies/${encodeURIComponent(String(slug))}`
      const madeAgency = await makeAgency(session, agencyPath, { ...folder.agency, slug }, isDryRun)
      const existing = madeAgency && isDryRun ? NOTHING : await existingOf(session, agencyPath, folder)
      const plan = planImport(folder, { ...existing, now: Date.now() }, members)
      const { done, refused } = isDryRun
        ? { done: plan.steps, refused: [] }
        : await importSteps(session, agencyPath, plan.steps, terminal)
      const all = [...plan.refused, ...refused]
      report(session, {
        agency: String(slug),
        madeAgency,
        isDryRun,
        plan,
        done,
        refused: all,
        unused: unusedGuests(folder),
      })
      if (all.length > 0) throw new CliError(`${all.length} rows were refused; see above.`, EXIT.refused)
    },
  )
}

/** Of an agency that has just been made. */
export const NOTHING: Omit<Existing, 'now'> = {
  units: [],
  rates: new Map(),
  restrictions: new Map(),
  feeTypes: [],
  bookings: [],
}

/** @returns whether it was made, or would be */
async function makeAgency(session: Session, path: string, agency: Json, isDryRun: boolean): Promise<boolean> {
  try {
    await session.client.get(path)
    return false
  } catch (error) {
    if (!(error instanceof RefusedError && error.status === 404)) throw error
  }
  const { slug, name, currency, timezone, plan, defaultHoldHours } = agency
  if (name === undefined)
    throw new UsageError(`Agency ${slug} does not exist, and the folder has no agency.json to create it from.`)
  if (!isDryRun)
    await session.client.send('POST', '/agencies', { slug, name, currency, timezone, plan, defaultHoldHours })
  return true
}

async function existingOf({ client }: Session, path: string, folder: Folder): Promise<Omit<Existing, 'now'>> {
  const units = await client.all(`${path}/units`, 'units')
  const rates = new Map<string, Json>()
  const restrictions = new Map<string, Json>()
  for (const { slug } of units) {
    const unit = `${path}/units/${encodeURIComponent(String(slug))}`
    if (folder.rates.length > 0) rates.set(String(slug), (await client.get(`${unit}/rates`))['rates'] as Json)
    if (folder.restrictions.length > 0) restrictions.set(String(slug), await client.get(`${unit}/restrictions`))
  }
  return {
    units,
    rates,
    restrictions,
    feeTypes: await client.all(`${path}/fee-types`, 'feeTypes'),
    bookings: await client.all(`${path}/bookings`, 'bookings'),
  }
}

/** Carries out the steps of a plan. @param path of the agency */
export async function importSteps(
  { client }: Session,
  path: string,
  steps: readonly Step[],
  terminal: Terminal,
): Promise<{ done: Step[]; refused: Refusal[] }> {
  const done: Step[] = []
  const refused: Refusal[] = []
  const carryOut = async (name: string, waiting: readonly Step[], send: (step: Step) => Promise<void>) => {
    const progress = new Progress(terminal, name, waiting.length)
    const next = waiting.values()
    const work = async () => {
      for (const step of next) {
        try {
          await send(step)
        } catch (error) {
          if (!(error instanceof RefusedError) || error.status >= 500 || error.status === 401) throw error
          refused.push({ at: step.at, reason: `${error.code}: ${error.body['title']}` })
        }
        progress.step()
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }
  for (const part of ORDER) {
    await carryOut(
      part,
      steps.filter((step) => step.part === part),
      async (step) => {
        // A unit that is only to be archived.
        const isEmpty = step.archives !== undefined && Object.keys(step.body).length === 0
        const answer = isEmpty ? {} : await client.send(step.method, path + step.path, step.body)
        if (step.holdExpiresAt !== undefined) {
          const { id } = answer['booking'] as Json
          await client.send('PATCH', `${path}/bookings/${id}`, { holdExpiresAt: step.holdExpiresAt })
        }
        done.push(step)
      },
    )
  }
  await carryOut(
    'archived units',
    done.filter(({ archives }) => archives !== undefined),
    async ({ archives }) => {
      await client.send('PATCH', `${path}${archives}`, { status: 'archived' })
    },
  )
  return { done, refused }
}

/** A guest comes with a booking; the portal makes none without. */
function unusedGuests({ guests, bookings }: Folder): string[] {
  const named = new Set(bookings.map(({ values }) => values['guest']))
  return guests.flatMap(({ at, values }) => (named.has(values['id']) || named.has(values['email']) ? [] : [at]))
}

interface Result {
  readonly agency: string
  readonly madeAgency: boolean
  readonly isDryRun: boolean
  readonly plan: Plan
  readonly done: readonly Step[]
  readonly refused: readonly Refusal[]
  readonly unused: readonly string[]
}

function report(session: Session, { agency, madeAgency, isDryRun, plan, done, refused, unused }: Result): void {
  const count = (kind: Step['kind']) => done.filter((step) => step.kind === kind).length
  const totals = {
    created: count('create') + (madeAgency ? 1 : 0),
    changed: count('change'),
    unchanged: plan.unchanged,
    different: plan.different.length,
    refused: refused.length,
  }
  if (session.isJson) {
    const steps = done.map(({ at, kind, part }) => ({ at, kind, part }))
    session.printJson({
      agency,
      isDryRun,
      ...totals,
      details: { refused, different: plan.different, unusedGuests: unused, steps },
    })
    return
  }
  const { terminal } = session
  const said = Object.entries(totals).map(([name, n]) => `${n} ${name}`)
  terminal.out(`${agency}: ${isDryRun ? 'would be ' : ''}${said.join(', ')}\n`)
  for (const part of ORDER) {
    const ofPart = done.filter((step) => step.part === part)
    const made = ofPart.filter(({ kind }) => kind === 'create').length
    if (ofPart.length > 0) terminal.out(`  ${part}: ${made} created, ${ofPart.length - made} changed\n`)
  }
  for (const { at, reason } of refused) terminal.err(`refused    ${cellOf(at)}  ${cellOf(reason)}\n`)
  for (const { at, reason } of plan.different)
    terminal.err(`different  ${cellOf(at)}  ${cellOf(reason)}; left as it is\n`)
  for (const at of unused) terminal.err(`unused     ${cellOf(at)}  no booking names this guest\n`)
}
