/** Flags of a command, from the schemas of its operation: the member `basePrice` of a body is `--base-price <n>`. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { CliError, UsageError } from './exit-codes.ts'
import type { Json } from './portal-client.ts'
import type { Terminal } from './terminal.ts'

/** As much of a JSON Schema as flags are made from. */
interface Schema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly format?: string
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

/**
 * What members are called as flags, where that is not their own name: `{ token: 'accessToken' }`. The members of an object have its
 * name before theirs (`--guest-email`), and none if that is ''.
 */
export type FlagNames = Readonly<Record<string, string>>

/** A member of a body or query that a flag can set: neither an object nor a list of objects. */
export interface Flag {
  /** As commander has it: `guestEmail` for `--guest-email`. */
  readonly name: string
  /** Where its value belongs: `['guest', 'email']`. */
  readonly path: readonly string[]
  readonly kind: 'text' | 'number' | 'boolean' | 'list'
  readonly isNullable: boolean
  readonly schema: Schema
}

export function flagsOf(object: Schema | undefined, names: FlagNames = {}): Flag[] {
  return Object.entries(object?.properties ?? {}).flatMap(([member, given]): Flag[] => {
    const schema = given.anyOf?.find(({ type }) => type !== 'null') ?? given
    const name = names[member] ?? member
    const kind = kindOf(schema)
    if (kind === 'object')
      return flagsOf(schema).map((inner) => ({
        ...inner,
        name: name === '' ? inner.name : name + inner.name.charAt(0).toUpperCase() + inner.name.slice(1),
        path: [member, ...inner.path],
      }))
    return kind === null ? [] : [{ name, path: [member], kind, isNullable: schema !== given, schema }]
  })
}

function kindOf({ type, enum: words, items }: Schema): Flag['kind'] | 'object' | null {
  // In a query, a truth value is one of two words.
  if (type === 'boolean' || words?.join() === 'true,false') return 'boolean'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') return items?.type === 'string' ? 'list' : null
  return type === 'object' ? 'object' : 'text'
}

/** @param showsDefaults false for a change: what it leaves out stays as it is */
export function addFlags(command: Command, flags: readonly Flag[], showsDefaults = true): void {
  for (const flag of flags) {
    const preset = showsDefaults ? flag.schema.default : undefined
    const help = preset === undefined ? helpOf(flag, flags) : `${helpOf(flag, flags)} (default: ${typed(flag, preset)})`
    command.option(`--${kebab(flag.name)} <${placeholderOf(flag)}>`, help)
  }
}

/** Longer lists of words are in the help of the flag. */
const CHOICES_LENGTH_MAX = 25

function placeholderOf({ kind, schema }: Flag): string {
  const choices = schema.enum?.join('|') ?? ''
  if (kind === 'boolean') return 'yes|no'
  if (kind === 'number') return 'n'
  if (kind === 'list') return 'list'
  if (choices !== '') return choices.length > CHOICES_LENGTH_MAX ? 'choice' : choices
  return schema.format === 'date' ? 'date' : 'text'
}

function helpOf(flag: Flag, flags: readonly Flag[]): string {
  const { name, kind, isNullable, schema } = flag
  const { description = kebab(name).replaceAll('-', ' '), examples = [] } = schema
  const parts = clauses(withFlags(description, flags)).filter((clause) => !clause.startsWith('null'))
  if (kind === 'list') parts.push(`separated by commas: ${schema.items?.enum?.join(', ')}`)
  if (placeholderOf(flag) === 'choice') parts.push(`one of ${schema.enum?.join(', ')}`)
  if (kind === 'text' && placeholderOf(flag) === 'text' && examples.length > 0)
    parts.push(`such as ${examples.join(' or ')}`)
  if (isNullable) parts.push('"" for none')
  return parts.join('; ')
}

/** A text of the API, which names members in backticks, as one of the command line. */
export function withFlags(text: string, flags: readonly Flag[]): string {
  return text.replaceAll(/`([^`]*)`/g, (_, word) => {
    const flag = flags.find(({ path }) => path.at(-1) === word)
    return flag === undefined ? word : `--${kebab(flag.name)}`
  })
}

/** The sentences of a description in the style of a help text: without capitals and full stops. */
export function clauses(description: string): string[] {
  return description
    .replace(/\.$/, '')
    .split('. ')
    .map((sentence) => sentence.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase()))
}

/** A value as it is typed behind its flag. */
function typed({ kind }: Flag, value: unknown): string {
  if (kind !== 'boolean') return String(value)
  return String(value) === 'true' ? 'yes' : 'no'
}

/** The flags that make the body of an example. */
export function exampleOf(flags: readonly Flag[], example: unknown): string {
  const words = flags.flatMap((flag) => {
    const value = flag.path.reduce((within, member) => (within as Json | undefined)?.[member], example)
    if (value === undefined || value === null) return []
    const text = typed(flag, value)
    return [`--${kebab(flag.name)} ${/^[\w:/.,-]+$/.test(text) ? text : JSON.stringify(text)}`]
  })
  return words.join(' ')
}

/** `--data`: a body as JSON, which the flags override. */
export function withDataFlag(command: Command): void {
  command.option('--data <json>', 'JSON object with additional fields; @file reads a file, @- reads standard input')
}

/**
 * What the flags and `--data` say.
 * @throws UsageError naming the flag that cannot be read
 */
export async function bodyOf(options: Json, flags: readonly Flag[], terminal: Terminal): Promise<Json> {
  const body = await dataOf(options['data'], terminal)
  for (const flag of flags) {
    const text = options[flag.name]
    if (text !== undefined) put(body, flag.path, read(flag, String(text)))
  }
  return body
}

/** The parameters of a query. Apart from truth values, they are sent as they were typed: the service says what is wrong with them. */
export function queryFrom(options: Json, flags: readonly Flag[]): Json {
  return Object.fromEntries(
    flags.map((flag) => {
      const value = options[flag.name]
      return [flag.path[0], typeof value === 'string' && flag.kind === 'boolean' ? read(flag, value) : value]
    }),
  )
}

function put(object: Json, [member = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) object[member] = value
  else {
    const inner = { ...(object[member] as Json | null | undefined) }
    object[member] = inner
    put(inner, rest, value)
  }
}

function read({ name, kind, isNullable }: Flag, text: string): unknown {
  if (text === '' && isNullable) return null
  try {
    switch (kind) {
      case 'number':
        return asNumber(text)
      case 'boolean':
        return asBoolean(text)
      case 'list':
        return text.split(',').map((part) => part.trim())
      case 'text':
        return text
    }
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`--${kebab(name)}: ${error.message}`) : error
  }
}

/** @throws UsageError when the text is not a number */
export function asNumber(text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) throw new UsageError(`${JSON.stringify(text)} is not a number.`)
  return number
}

function asBoolean(text: string): boolean {
  if (['true', 'yes', 'on'].includes(text)) return true
  if (['false', 'no', 'off'].includes(text)) return false
  throw new UsageError(`${JSON.stringify(text)} is not yes or no.`)
}

async function dataOf(given: unknown, terminal: Terminal): Promise<Json> {
  if (given === undefined) return {}
  const text = String(given)
  const source = text === '@-' ? await terminal.readInput() : text.startsWith('@') ? readText(text.slice(1)) : text
  try {
    const value = JSON.parse(source)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Reported below.
  }
  throw new UsageError('--data is not a JSON object.')
}

/** @throws CliError naming the file */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CliError(`Cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

/** `basePrice`: `base-price`. */
export function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
