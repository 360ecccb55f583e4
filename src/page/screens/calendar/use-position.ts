/**
 * The position of the calendar in the address. It is written when scrolling pauses, and followed when Back, a bookmark or somebody
 * who types changes it.
 */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { ChartUnit } from '../../chart/stay.ts'
import type { ChartHandle } from '../../chart/tape-chart.tsx'
import type { ScrolledTo } from '../../chart/use-scrolling.ts'
import { type Day, isoOf } from '../../format/days.ts'
import { setQuery } from '../../route/router.ts'
import type { CalendarAddress } from './calendar-address.ts'

interface PositionOptions {
  readonly address: Pick<CalendarAddress, 'from' | 'unit'>
  /** The rows, in order; empty until they have come. */
  readonly units: readonly ChartUnit[]
  readonly handle: RefObject<ChartHandle>
  /** The day that is shown for an address, as near as the calendar reaches; null: of one without a day. */
  readonly shown: (day: Day | null) => Day
}

interface Position {
  /** Scrolling has paused here. */
  settled(at: ScrolledTo): void
  /** Goes to a day. `isStep`: one of several, which Back goes over. */
  jump(day: Day, options?: { readonly isStep?: boolean }): void
}

export function usePosition({ address, units, handle, shown }: PositionOptions): Position {
  const { from, unit } = address
  // Where the chart is, or is about to be: an address that says the same moves nothing.
  const at = useRef<{ from: Day | null; unit: string | null }>({ from, unit: null })
  const isLoaded = units.length > 0

  // At once: if scrolling pauses between Back and a later effect, its position would overwrite the address that is to be followed.
  useLayoutEffect(() => {
    if (!isLoaded || (from === at.current.from && unit === at.current.unit)) return
    const row = unit === null ? 0 : units.findIndex(({ slug }) => slug === unit)
    const day = from === at.current.from ? null : shown(from)
    at.current = { from, unit }
    handle.current?.scrollTo({ day, row: row === -1 ? null : row })
  }, [isLoaded, from, unit])

  return {
    settled({ leftDay, topRow }) {
      // Until the rows are known, the address keeps the one it asks for.
      const top = !isLoaded ? unit : topRow === 0 ? null : (units[topRow]?.slug ?? null)
      at.current = { from: leftDay, unit: isLoaded ? top : at.current.unit }
      setQuery({ from: isoOf(leftDay), unit: top }, { replace: true })
    },
    jump(day, { isStep = false } = {}) {
      const to = shown(day)
      at.current = { ...at.current, from: to }
      handle.current?.scrollTo({ day: to, row: null })
      setQuery({ from: isoOf(to) }, { replace: isStep })
    },
  }
}
