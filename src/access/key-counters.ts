/**
 * What counts the requests of a key, found once and then kept with the key: its rolling minute, its count in the current slot of the
 * rate slots, and its agency's count of the month. Looking each of them up by id, in maps of all keys and agencies, was a tenth of an
 * availability request in a large service, because none of those maps is in the processor's caches (docs/decisions.md#speed).
 *
 * Only a shortcut: every counter is in its owner's map too, and the owner checks that what is kept here is still current. It may be lost
 * at any time, as it is when the key or the agency changes.
 */
import type { RollingMinute } from './rolling-minute.ts'

/** The requests of one key in one slot of `RateSlots`. */
export interface SlotCount {
  readonly slot: number
  /** Null: not known. */
  readonly agencyId: string | null
  requests: number
}

/** The requests of one agency in one month. */
export interface MonthCounter {
  readonly agencyId: string
  /** `YYYY-MM`, UTC. */
  readonly month: string
  used: number
  /** Still to be written. */
  isDirty: boolean
  /** `YYYY-MM-DD`, UTC: since when it is dirty. Empty until then. It does not stay dirty beyond that day (`UsageMeter`). */
  day: string
}

export class KeyCounters {
  /** Of the limiter's generation `generation`. */
  minute: RollingMinute | null = null
  generation = 0
  slotCount: SlotCount | null = null
  month: MonthCounter | null = null
  /** The meter's counters that `month` is one of. */
  months: ReadonlyMap<string, MonthCounter> | null = null

  /** @param agencyId of the key */
  constructor(readonly agencyId: string) {}
}
