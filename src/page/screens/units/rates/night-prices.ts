/** Prices of nights, and the seasons in a row of them. Pure. */

import type { Preview } from '../../../api/schema.ts'
import { type Day, dayOf } from '../../../format/days.ts'
import type { GridRow } from '../editing/day-rows.ts'

export interface NightPrice {
  readonly day: Day
  /** Minor units. */
  readonly price: number
  readonly minStay: number
  readonly season: string | null
}

export class NightPrices {
  readonly #nights: Preview['nights']
  readonly #from: Day
  readonly lowest: number
  readonly highest: number

  constructor(nights: Preview['nights']) {
    this.#nights = nights
    this.#from = dayOf(nights.from)
    this.lowest = Math.min(...nights.prices)
    this.highest = Math.max(...nights.prices)
  }

  /** Undefined outside of what was asked for. */
  at(day: Day): NightPrice | undefined {
    const index = day - this.#from
    const price = this.#nights.prices[index]
    if (price === undefined) return undefined
    return {
      day,
      price,
      minStay: this.#nights.minStay[index] ?? 1,
      season: this.#nights.season[index] ?? null,
    }
  }

  /** How high a price is among all: 0 (lowest) to HEAT_STEPS - 1. */
  heat(price: number): number {
    if (this.highest === this.lowest) return 0
    const part = (price - this.lowest) / (this.highest - this.lowest)
    return Math.min(HEAT_STEPS - 1, Math.floor(part * HEAT_STEPS))
  }

  /** Nights that cost something else, or ask for another minimum stay, in the other. */
  differingFrom(other: NightPrices): ReadonlySet<Day> {
    const days = new Set<Day>()
    for (let index = 0; index < this.#nights.prices.length; index++) {
      const day = this.#from + index
      const [mine, theirs] = [this.at(day), other.at(day)]
      if (theirs !== undefined && (mine?.price !== theirs.price || mine.minStay !== theirs.minStay)) days.add(day)
    }
    return days
  }
}

export const HEAT_STEPS = 5
/** Consecutive cells of a row in one season. Columns from 0, `to` exclusive. */
interface SeasonRun {
  readonly name: string
  readonly from: number
  readonly to: number
}

export function seasonRuns({ cells }: GridRow, nights: NightPrices): SeasonRun[] {
  const runs: SeasonRun[] = []
  for (const { day, column } of cells) {
    const name = nights.at(day)?.season ?? null
    const last = runs.at(-1)
    if (last !== undefined && last.name === name && last.to === column)
      runs[runs.length - 1] = { ...last, to: column + 1 }
    else if (name !== null) runs.push({ name, from: column, to: column + 1 })
  }
  return runs
}
