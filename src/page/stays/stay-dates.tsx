import { useRef, useState } from 'preact/hooks'
import { DateInput, FieldRow } from '../design/inputs.tsx'
import { type Day, isoOf, parseDay } from '../format/days.ts'

interface Dates {
  readonly arrival: Day
  readonly departure: Day
}

/**
 * Arrival and departure of a stay, of at least one night: a date that leaves none moves the other one.
 * @param props.keepsLength another arrival moves the departure too
 */
export function StayDates(props: {
  at: Dates
  keepsLength?: boolean
  hint?: string
  onChange: (dates: Dates) => void
}) {
  const { at, keepsLength = false, hint, onChange } = props
  // While a date is typed it passes through others: 2 January of the next year through 2 January of this one, before the arrival.
  // Therefore the other date follows from what it was when the field was entered.
  const entered = useRef(at)
  const [, draw] = useState({})
  const enter = () => {
    entered.current = at
    draw({})
  }
  return (
    <FieldRow>
      <DateInput
        label="Arrival"
        value={isoOf(at.arrival)}
        onFocus={enter}
        onChange={(text) => {
          const arrival = parseDay(text)
          if (arrival === null) return
          const { arrival: before, departure } = entered.current
          onChange({
            arrival,
            departure: keepsLength ? arrival + departure - before : Math.max(departure, arrival + 1),
          })
        }}
      />
      <DateInput
        label="Departure"
        value={isoOf(at.departure)}
        // Not that of a half-typed date: when this changes, a browser starts the field again.
        min={isoOf(Math.max(at.arrival, entered.current.arrival) + 1)}
        hint={hint}
        onFocus={enter}
        onChange={(text) => {
          const departure = parseDay(text)
          if (departure === null) return
          onChange({ arrival: Math.min(entered.current.arrival, departure - 1), departure })
        }}
      />
    </FieldRow>
  )
}
