/** Members of a body as options of a command: `basePrice` is `--base-price`. */

import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { CliError, UsageError } from './exit-codes.ts'
import type { Json } from './portal-client.ts'
import type { Terminal } from './terminal.ts'

export interface Field {
  /** Its name in the body. */
  readonly name: string
  /** Its name as an option, where the body's is taken by another one. */
  readonly option?: string
  /** Placeholder for the value in the help: `<cents>`. */
  readonly value: string
  readonly description: string
  readonly read: (text: string) => unknown
}

export const asText = (text: string): string => text

/** An empty value: null. */
export const asTextOrNull = (text: string): string | null => (text === '' ? null : text)

export function asNumber(text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) throw new UsageError(`${JSON.stringify(text)} is not a number.`)
  return number
}

export const asNumberOrNull = (text: string): number | null => (text === '' ? null : asNumber(text))

export function asBoolean(text: string): boolean {
  if (['true', 'yes', 'on'].includes(text)) return true
  if (['false', 'no', 'off'].includes(text)) return false
  throw new UsageError(`${JSON.stringify(text)} is not yes or no.`)
}

export const asList = (text: string): string[] => text.split(',').map((part) => part.trim())

export function withFields(command: Command, fields: readonly Field[]): Command {
  for (const { name, option = name, value, description } of fields)
    command.option(`--${kebab(option)} ${value}`, description)
  return command.option(
    '--data <json>',
    'JSON object with additional fields; @file reads a file, @- reads standard input',
  )
}

/** The options, which override `--data`. */
export async function bodyOf(options: Json, fields: readonly Field[], terminal: Terminal): Promise<Json> {
  const body = await dataOf(options['data'], terminal)
  for (const { name, option = name, read } of fields) {
    const text = options[option]
    if (text === undefined) continue
    try {
      body[name] = read(String(text))
    } catch (error) {
      if (error instanceof UsageError) throw new UsageError(`--${kebab(option)}: ${error.message}`)
      throw error
    }
  }
  return body
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

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
