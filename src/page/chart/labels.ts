/** The words of the chart: on bars and headers, and for screen readers. */
import type { Day } from '../format/days.ts'
import { timeLeft } from '../format/instants.ts'
import { plural } from '../format/numbers.ts'
import { sourceText } from '../stays/stay-name.ts'
import {
  type ChartUnit,
  CLOSED_TO_ARRIVAL,
  CLOSED_TO_DEPARTURE,
  closedOn,
  dueOn,
  isHold,
  kindOf,
  NOT_FOR_SALE,
  nightsOf,
  type Stay,
  type StayKind,
} from './stay.ts'

const KIND_WORDS = {
  draft: 'draft',
  hold: 'hold',
  confirmed: 'confirmed',
  'checked-in': 'checked in',
  'checked-out': 'checked out',
  owner: 'owner stay',
  maintenance: 'maintenance',
  block: 'block',
} as const satisfies Record<StayKind, string>

/** Formatters of one language. Each day is formatted once: a scroll asks for the same few hundred again and again. */
export class DayWords {
  readonly #long: (day: Day) => string
  readonly #medium: (day: Day) => string
  readonly #short: (day: Day) => string
  readonly #weekday: (day: Day) => string
  readonly #month: (day: Day) => string

  /** @param language of the browser unless given */
  constructor(language?: string) {
    this.#long = formatted(language, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
    this.#medium = formatted(language, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' })
    this.#short = formatted(language, { day: 'numeric', month: 'short' })
    this.#weekday = formatted(language, { weekday: 'short' })
    this.#month = formatted(language, { month: 'long', year: 'numeric' })
  }

  /** Wednesday, 5 May 2027 */
  long(day: Day): string {
    return this.#long(day)
  }

  /** Wed, 5 May 2027 */
  medium(day: Day): string {
    return this.#medium(day)
  }

  /** Wed */
  weekday(day: Day): string {
    return this.#weekday(day)
  }

  /** May 2027 */
  month(day: Day): string {
    return this.#month(day)
  }

  /** 5 May – 9 May */
  range({ arrival, departure }: { readonly arrival: Day; readonly departure: Day }): string {
    return `${this.#short(arrival)} – ${this.#short(departure)}`
  }
}

function formatted(language: string | undefined, options: Intl.DateTimeFormatOptions): (day: Day) => string {
  const format = new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' })
  const known = new Map<Day, string>()
  return (day) => {
    const found = known.get(day)
    if (found !== undefined) return found
    const text = format.format(day * 86_400_000)
    known.set(day, text)
    return text
  }
}

/** What stands on the bar. */
export function barText(stay: Stay): string {
  switch (stay.type) {
    case 'guest':
      return stay.guest ?? sourceWords(stay)
    case 'owner_stay':
      return stay.guest === null ? 'Owner stay' : `Owner · ${stay.guest}`
    case 'maintenance':
      return 'Maintenance'
    case 'block':
      return 'Block'
  }
}

function sourceWords({ source, sourceRef }: Stay): string {
  return sourceRef === null ? `Guest (${sourceText(source)})` : `${sourceRef} (${sourceText(source)})`
}

/** What a screen reader says of a bar. */
export function barLabel(stay: Stay, words: DayWords, today: Day, nowS: number): string {
  const kind = kindOf(stay)
  const type = stay.type === 'guest' ? 'guest stay' : stay.type === 'owner_stay' ? 'owner stay' : stay.type
  const isHeld = isHold(stay.status)
  const status = isHeld ? KIND_WORDS[kind] : stay.status.replace('_', ' ')
  const said = [barText(stay), stay.type === 'guest' || isHeld ? `${type}, ${status}` : status]
  if (stay.holdExpiresAt !== null) said.push(`${timeLeft(stay.holdExpiresAt * 1_000, nowS * 1_000)} left`)
  const due = dueOn(stay, today)
  if (due !== null) said.push(due === 'arrival' ? 'to be checked in' : 'to be checked out')
  said.push(`${words.medium(stay.arrival)} to ${words.medium(stay.departure)}`, plural(nightsOf(stay), 'night'))
  if (stay.expectedUntil !== null) said.push(`expected to stay until ${words.medium(stay.expectedUntil)}`)
  if (stay.groupId !== null) said.push('booked together with other stays')
  return said.join(', ')
}

const CLOSED_WORDS = [
  [NOT_FOR_SALE, 'not for sale'],
  [CLOSED_TO_ARRIVAL, 'closed to arrival'],
  [CLOSED_TO_DEPARTURE, 'closed to departure'],
] as const

/** What a screen reader says of a day on which a stay could begin. */
export function freeCellLabel(unit: ChartUnit, day: Day, words: DayWords, departing: Stay | null): string {
  const left = departing === null ? '' : `, ${barText(departing)} departs`
  const closed = closedOn(unit, day)
  const shut = CLOSED_WORDS.flatMap(([bit, text]) => ((closed & bit) === 0 ? [] : [`, ${text}`]))
  return `${unit.name}, ${words.long(day)}, free${shut.join('')}${left}`
}

export function unitLabel({ name, bedrooms, area, city, isArchived }: ChartUnit): string {
  const rooms = bedroomsText(bedrooms)
  return [name, rooms, area ?? city, isArchived ? 'archived' : null]
    .filter((part) => part !== null && part !== '')
    .join(', ')
}

export function bedroomsText(bedrooms: number): string {
  return bedrooms === 0 ? 'studio' : bedrooms === 1 ? '1 bedroom' : `${bedrooms} bedrooms`
}
