/** The heads of frames: lines of text, the last of them headers. */
import { SHARDS } from '../../core/journal/shard.ts'
import type { NodeAddress } from '../shard-owners.ts'
import { isListenerName } from './hop.ts'
import type { NotOwner } from './owner-calls.ts'
import type { Forwarded } from './request-entry.ts'

/** Ends each line. None of what is written can hold one: neither header values nor the parts of a request line may. */
const LINE = '\n'
/** Between the names of headers and their values. No header may hold one. */
const VALUES = '\0'
const NONE = '-'
const NEW_KEY = 'new'
/** Sets of header names that are remembered. */
const NAMES_MAX = 500

export interface RequestHead extends Forwarded {
  readonly method: string
  readonly url: string
}

/** @param headers `headersText` of the request */
export function requestHead(
  { method, url, route, shard, listener, peer, hasNewKey }: RequestHead,
  headers: string,
): string {
  const key = hasNewKey ? NEW_KEY : NONE
  return `${method}\n${url}\n${route ?? NONE}\n${shard}\n${listener}\n${peer ?? NONE}\n${key}\n${headers}`
}

/** Null: it is none. `headers`: what `headersOf` reads. */
export function readRequestHead(text: string): { readonly head: RequestHead; readonly headers: string } | null {
  const lines: string[] = []
  let at = 0
  while (lines.length < REQUEST_LINES) {
    const end = text.indexOf(LINE, at)
    if (end === -1) return null
    lines.push(text.slice(at, end))
    at = end + 1
  }
  const [method = '', url = '', route = '', shardText = '', listener = '', peer = '', key = ''] = lines
  const shard = Number(shardText)
  if (!Number.isInteger(shard) || shard < 0 || shard >= SHARDS || !isListenerName(listener)) return null
  const orNone = (text: string) => (text === NONE ? null : text)
  const head = { method, url, shard, listener, route: orNone(route), peer: orNone(peer), hasNewKey: key === NEW_KEY }
  return { head, headers: text.slice(at) }
}

const REQUEST_LINES = 7

export function answerHead({ status, headers }: Response): string {
  return `${status}\n${headersText(headers)}`
}

/** Null: it is none. */
export function readAnswerHead(text: string, headers: HeaderTexts): { status: number; headers: Headers } | null {
  const end = text.indexOf(LINE)
  const status = Number(text.slice(0, end))
  const read = headers.read(text.slice(end + 1))
  return Number.isInteger(status) && status >= 200 && status < 600 && read !== null ? { status, headers: read } : null
}

export function notOwnerHead({ owner, isDoubtful }: NotOwner): string {
  return JSON.stringify({ owner: owner === null ? null : { id: owner.id, url: owner.url }, isDoubtful })
}

/** Null: it is none. */
export function readNotOwnerHead(text: string): NotOwner | null {
  try {
    const { owner, isDoubtful } = JSON.parse(text) as { owner?: Partial<NodeAddress> | null; isDoubtful?: unknown }
    if (typeof isDoubtful !== 'boolean' || owner === undefined) return null
    if (owner === null) return { kind: 'not_owner', owner, isDoubtful }
    const { id, url } = owner
    return typeof id === 'string' && typeof url === 'string'
      ? { kind: 'not_owner', owner: { id, url }, isDoubtful }
      : null
  } catch {
    return null
  }
}

/** All names, then all values, each in a line. */
export function headersText(headers: Headers): string {
  const all: Record<string, string | string[]> = headers.toJSON()
  let names = ''
  let values = ''
  for (const name in all) {
    const value = all[name] as string | string[]
    if (typeof value === 'string') {
      names += name + LINE
      values += value + LINE
      continue
    }
    // Cookies of an answer.
    for (const each of value) {
      names += name + LINE
      values += each + LINE
    }
  }
  return names + VALUES + values
}

interface Known {
  readonly names: readonly string[]
  /** As they are in `headers`. */
  readonly values: string[]
  readonly headers: Headers
}

/**
 * Reads `headersText`. Most requests and most answers have the same names, and to set the values of headers costs a third of making them:
 * so those with the same names are one object, which must be used before the next is read (`Request` and `Response` copy it).
 */
export class HeaderTexts {
  readonly #known = new Map<string, Known>()

  /** Null: it is none. */
  read(text: string): Headers | null {
    const split = text.indexOf(VALUES)
    if (split === -1) return null
    const namesText = text.slice(0, split)
    let known = this.#known.get(namesText)
    if (known === undefined) {
      known = { names: namesText.split(LINE).slice(0, -1), values: [], headers: new Headers() }
      if (new Set(known.names).size < known.names.length) return separate(known.names, text.slice(split + 1))
      if (this.#known.size >= NAMES_MAX) this.#known.clear()
      this.#known.set(namesText, known)
    }
    const { names, values, headers } = known
    let at = split + 1
    try {
      for (let i = 0; i < names.length; i++) {
        const end = text.indexOf(LINE, at)
        if (end === -1) return null
        const value = text.slice(at, end)
        if (values[i] !== value) {
          headers.set(names[i] as string, value)
          values[i] = value
        }
        at = end + 1
      }
    } catch {
      return null
    }
    return at === text.length ? headers : null
  }
}

/** Of names that are there more than once. */
function separate(names: readonly string[], valuesText: string): Headers | null {
  const values = valuesText.split(LINE)
  if (values.length !== names.length + 1) return null
  const headers = new Headers()
  try {
    for (const [i, name] of names.entries()) headers.append(name, values[i] as string)
  } catch {
    return null
  }
  return headers
}
