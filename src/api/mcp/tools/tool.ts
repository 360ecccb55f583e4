import type { Tool as McpTool } from '@modelcontextprotocol/server'
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { PartnerAccess } from '../../../accounts/partner-access.ts'
import type { BookingCommands } from '../../../core/bookings/booking-commands.ts'
import type { BookingList } from '../../../core/bookings/booking-lists.ts'
import type { Agency, Scope } from '../../../core/catalogue/agency.ts'
import type { Catalogue } from '../../../core/catalogue/catalogue.ts'
import { PAGE_QUERY, PAGE_SIZE_MAX, type Page, pageOf } from '../../../http/json/page.ts'
import { type Validator, validator } from '../../../http/validator.ts'
import { assert } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'

/** What the tools read from. */
export interface ToolLedger {
  readonly catalogue: Catalogue
  readonly commands: BookingCommands
  readonly bookingList: BookingList
  readonly access: Pick<PartnerAccess, 'takeParts'>
  readonly clock: Pick<Clock, 'now'>
}

/** What a tool returns: its structured content as JSON text, or what is wrong and how to correct it, in a sentence. */
type ToolOutcome = string | ToolFault

/** A problem that the agent can correct: an `isError` result (docs/contract.md#errors). */
export interface ToolFault {
  readonly sentence: string
}

export interface Tool {
  readonly name: string
  readonly scope: Scope
  /** Another scope that these arguments need, as they were received; null for none. */
  scopeWith(args: Readonly<Record<string, unknown>>): Scope | null
  /** As `tools/list` shows it. */
  readonly definition: McpTool
  /** @param args as received */
  call(ledger: ToolLedger, agency: Agency, args: Readonly<Record<string, unknown>>): ToolOutcome | Promise<ToolOutcome>
}

interface ToolParts<I extends TObject> {
  readonly name: string
  readonly title: string
  readonly scope: Scope
  /** Left out: the arguments need no other scope. */
  readonly scopeWith?: Tool['scopeWith']
  readonly description: string
  /** Flat, and closed: an argument that an agent invents is refused rather than ignored. */
  readonly input: I
  readonly output: TSchema
  run(ledger: ToolLedger, agency: Agency, args: Static<I>): ToolOutcome | Promise<ToolOutcome>
}

export function toolOf<I extends TObject>(parts: ToolParts<I>): Tool {
  const { name, title, scope, scopeWith = () => null, description, input, output } = parts
  const shape = validator(input, 'arguments')
  return {
    name,
    scope,
    scopeWith,
    definition: {
      name,
      title,
      description,
      inputSchema: publishedSchema(input),
      outputSchema: publishedSchema(output),
      // Destructive and open-world are true unless said otherwise.
      annotations: { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    call: (ledger, agency, args) =>
      shape.passes(args) ? parts.run(ledger, agency, args) : faultOfArguments(name, input, shape, args),
  }
}

type ObjectSchema = { type: 'object'; [keyword: string]: unknown }

/**
 * A schema as a client gets it: without TypeBox's symbols, and without `$id`s, because a validator that takes in
 * several tools refuses the second schema of one name.
 */
function publishedSchema(schema: TSchema): ObjectSchema {
  const published = withoutIds(JSON.parse(JSON.stringify(schema))) as ObjectSchema
  assert(published.type === 'object', 'Cannot publish a schema of a tool: it is not of an object')
  return published
}

function withoutIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([keyword]) => keyword !== '$id')
      .map(([keyword, member]) => [keyword, withoutIds(member)]),
  )
}

/** Listing more faults than this does not help. */
const FAULTS_TOLD_MAX = 3

function faultOfArguments(name: string, input: TObject, shape: Validator<unknown>, args: object): ToolFault {
  const known = Object.keys(input.properties)
  const unknown = Object.keys(args).filter((argument) => !known.includes(argument))
  if (unknown.length > 0) {
    const [first = ''] = unknown
    return fault(`${name} has no argument ${JSON.stringify(first.slice(0, 64))}. Valid arguments: ${known.join(', ')}`)
  }
  const messages = shape.faultsOf(args).map(({ message }) => message)
  return fault(messages.slice(0, FAULTS_TOLD_MAX).join('; '))
}

/** @param sentence without its full stop */
export function fault(sentence: string): ToolFault {
  return { sentence: `${sentence}.` }
}

/** A slug that the agency does not sell (docs/contract.md#tool-endpoint-errors: unknown slug). */
export function unknownUnit(slug: string): ToolFault {
  return fault(`No such unit: ${JSON.stringify(slug.slice(0, 64))}. Use a slug from list_units`)
}

/** A quarter of REST's: what a tool returns is read by a model, whose context is small. */
const TOOL_PAGE_SIZE_DEFAULT = 25

/** The paging arguments of the listing tools. */
export const PAGE_ARGUMENTS = {
  page: PAGE_QUERY.page,
  pageSize: Type.Optional({
    ...PAGE_QUERY.pageSize,
    default: TOOL_PAGE_SIZE_DEFAULT,
    description: `Items per page, at most ${PAGE_SIZE_MAX}.`,
  }),
}

export function toolPageOf(args: { page?: number; pageSize?: number }): Page {
  return pageOf({ pageSize: TOOL_PAGE_SIZE_DEFAULT, ...args })
}
