import { Card } from '../../../design/card.tsx'
import { Field } from '../../../design/inputs.tsx'
import { dayText } from '../../../format/days.ts'
import { weekdayField } from './rates-errors.ts'
import type { RatesEditing } from './use-rates.ts'

/** A Monday, to name the days of the week after. */
const MONDAY = 4

/** What nights of a day of the week cost more or less. */
export function WeekdaysCard({ editing: { draft, errors, change } }: { editing: RatesEditing }) {
  return (
    <Card title="Days of the week">
      <div class="form">
        <p class="units-text">
          Added to the price of each night, as a percentage, in and out of season. A negative number makes nights
          cheaper.
        </p>
        <div class="rates-weekdays">
          {draft.weekdays.map((pct, index) => {
            const name = dayText(MONDAY + index, 'weekday')
            return (
              <Field key={name} label={name} error={errors.get(weekdayField(index + 1))}>
                {(control) => (
                  <input
                    {...control}
                    class={pct === null || pct === 0 ? 'input numeric' : 'input numeric rates-weekday-set'}
                    type="number"
                    inputMode="text"
                    step={1}
                    placeholder="0"
                    value={pct ?? ''}
                    onInput={({ currentTarget: { valueAsNumber } }) =>
                      change({
                        weekdays: draft.weekdays.with(index, Number.isNaN(valueAsNumber) ? null : valueAsNumber),
                      })
                    }
                  />
                )}
              </Field>
            )
          })}
        </div>
      </div>
    </Card>
  )
}
