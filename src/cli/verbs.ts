/** The verbs of a noun: each is an operation of the portal, whose schemas say what its arguments and flags are. */
import type { Command } from 'commander'
import { type Operation, pathParameters } from '../http/operation.ts'
import {
  addFlags,
  bodyOf,
  clauses,
  exampleOf,
  type FlagNames,
  flagsOf,
  kebab,
  queryFrom,
  withDataFlag,
  withFlags,
} from './flags.ts'
import { type PortalOperationId, portalOperation } from './operations.ts'
import { type Json, queryOf } from './portal-client.ts'
import { serviceCommand } from './session.ts'
import { type Columns, listing, table } from './table.ts'
import type { Terminal } from './terminal.ts'

export interface Noun {
  readonly summary: string
  readonly verbs: Readonly<Record<string, PortalOperationId | Verb>>
  /** Verbs that are more than an operation. */
  readonly ownVerbs?: (noun: Command, terminal: Terminal) => void
}

export interface Verb {
  readonly operation: PortalOperationId
  /** Where that of the operation says too much. */
  readonly summary?: string
  /** Whether the noun alone means this verb. */
  readonly isDefault?: boolean
  /** In addition to that of the operation's body, without the noun and the verb. */
  readonly examples?: readonly string[]
  readonly names?: FlagNames
  /** Instead of a flag for each member of the body. */
  readonly ownFlags?: OwnFlags
  /** Of a table. Left out: the answer is one object, shown line by line. */
  readonly columns?: Columns
  /** How the answer is shown, if neither as a table nor line by line. */
  readonly show?: (answer: Json, terminal: Terminal) => void
}

export interface OwnFlags {
  /** Whether the flags of the operation stay beside them. */
  readonly isBeside?: true
  add(command: Command): void
  /** What they say, as members of the body. */
  body(options: Json): Json
}

export function addVerbs(noun: Command, { verbs, ownVerbs }: Noun, terminal: Terminal): void {
  for (const [name, verb] of Object.entries(verbs))
    addVerb(noun, name, typeof verb === 'string' ? { operation: verb } : verb, terminal)
  ownVerbs?.(noun, terminal)
}

function addVerb(noun: Command, name: string, verb: Verb, terminal: Terminal): void {
  const operation = portalOperation(verb.operation)
  const { method, description, path, body, bodyExample } = operation
  const {
    summary = operation.summary,
    names,
    ownFlags,
    examples = [],
    columns,
    isDefault = false,
    show = showAnswer,
  } = verb
  const parameters = flagsOf(operation.query, names).filter(({ name }) => name !== 'dryRun')
  const members = ownFlags === undefined || ownFlags.isBeside === true ? flagsOf(body, names) : []
  const words = [name, ...pathParameters(path).flatMap(({ name }) => (name === AGENCY ? [] : [`<${kebab(name)}>`]))]
  const bodyFlags = exampleOf(members, bodyExample)
  serviceCommand<Json>(
    noun,
    {
      name: words.join(' '),
      summary: clauses(summary).join('; '),
      description:
        description === undefined ? summary : `${summary}. ${withFlags(description, [...parameters, ...members])}`,
      isOfAll: !path.includes(`{${AGENCY}}`),
      isDefault,
      examples: [...(bodyFlags === '' ? [] : [bodyFlags]), ...examples].map((rest) =>
        [noun.name(), ...words, rest].join(' '),
      ),
      options: (command) => {
        addFlags(command, [...parameters, ...members], method !== 'PATCH')
        ownFlags?.add(command)
        if (body !== undefined) withDataFlag(command)
        if (operation.takesDryRun === true) command.option('--dry-run', 'show what would happen; nothing is written')
      },
    },
    terminal,
    async (session, { arguments: values, options }) => {
      const sent = body && { ...(await bodyOf(options, members, terminal)), ...ownFlags?.body(options) }
      const query = queryOf({ ...queryFrom(options, parameters), dryRun: options['dryRun'] })
      const agency = path.includes(`{${AGENCY}}`) ? await session.agencySlug() : ''
      const left = [...values]
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        encodeURIComponent(name === AGENCY ? agency : (left.shift() ?? '')),
      )
      const answer = await session.client.request(method, address + query, sent)
      if (session.isJson) session.printJson(answer)
      else show(answer, terminal, operation, columns)
    },
  )
}

/** The parameter of a path that is no argument of a command. */
const AGENCY = 'agencySlug'

/** A list, or one object with its secret or link if it has one: the first member of the answer. */
export function showAnswer(answer: Json, terminal: Terminal, operation: Operation, columns?: Columns): void {
  const [member = ''] = Object.keys(operation.answer.schema['properties'])
  const value = answer[member] as Json | Json[]
  terminal.out(columns === undefined ? listing(value as Json) : table([value].flat(), columns))
  const { secret, invitation, page, pageCount, totalItems } = answer
  if (Number(pageCount) > 1) terminal.err(`Page ${page} of ${pageCount}, ${totalItems} in total (--page)\n`)
  if (secret !== undefined) {
    terminal.out(`\nsecret  ${secret}\n`)
    terminal.err('Store the secret now: it is not shown again.\n')
  } else if (invitation != null) {
    const { link } = invitation as Json
    if (link !== null) terminal.out(`\nlink  ${link}\n`)
    terminal.err(
      link === null
        ? 'The link was shown before and is not shown again. For a new one: nightledger people invite\n'
        : 'Give the link to the person now: it is not shown again, and the first one to open it is let in.\n',
    )
  }
}
