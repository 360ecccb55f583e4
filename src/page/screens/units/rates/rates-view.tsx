import './rates.css'
import { useSession } from '../../../data/use-session.ts'
import { Card } from '../../../design/card.tsx'
import { Note } from '../../../design/feedback.tsx'
import { Field, MoneyInput, NumberInput } from '../../../design/inputs.tsx'
import { weekdayText } from '../../../format/days.ts'
import { ConflictNote, SaveBar } from '../editing/save-bar.tsx'
import { DiscountsCard } from './discounts-card.tsx'
import { PricePreview } from './price-preview.tsx'
import { ratesChanges } from './rates-changes.ts'
import { changedPrices, type PriceField, ratesOf, weekdayField } from './rates-draft.ts'
import { SeasonsCard } from './seasons-card.tsx'
import type { RatesEditing } from './use-rates.ts'

/** The fields of a unit's rates, and beside them what they come to. */
export function RatesView({ editing }: { editing: RatesEditing }) {
  const { may, currency } = useSession()
  const mayChange = may('manager')
  const { base, draft, errors, theirs } = editing
  const mine = () => ({ rates: ratesOf(draft), prices: { ...base.prices, ...changedPrices(base.prices, draft) } })
  return (
    <>
      {theirs !== null && (
        <ConflictNote
          what="rates"
          changes={ratesChanges({ rates: base.rates, prices: {} }, { rates: theirs, prices: {} }, currency)}
          editing={editing}
        />
      )}
      {!mayChange && <Note>You can price any stay here. Only managers and owners can change rates.</Note>}
      <div class="rates">
        <fieldset class="editing-fields" disabled={!mayChange} aria-label="Rates">
          <SeasonsCard editing={editing} mayChange={mayChange} />
          <PricesCard editing={editing} />
          <WeekdaysCard editing={editing} />
          <DiscountsCard editing={editing} mayChange={mayChange} />
        </fieldset>
        <PricePreview editing={editing} />
      </div>
      {editing.isUnsaved && (
        <SaveBar
          action="Save rates"
          changes={errors.size > 0 ? [] : ratesChanges(base, mine(), currency)}
          editing={editing}
        />
      )}
    </>
  )
}

/** What counts wherever no season says otherwise. */
function PricesCard({ editing: { draft, errors, change } }: { editing: RatesEditing }) {
  const { currency } = useSession()
  const field = (name: PriceField) => ({
    value: draft.prices[name],
    onChange: (value: number | null) => change({ prices: { ...draft.prices, [name]: value } }),
    error: errors.get(name),
  })
  return (
    <Card title="Base prices">
      <div class="field-pairs">
        <MoneyInput label="Base price per night" hint="Outside seasons" {...field('basePrice')} {...currency} />
        <NumberInput
          label="Minimum stay"
          hint="Seasons can override it"
          suffix="nights"
          min={1}
          {...field('minStay')}
        />
        <MoneyInput label="Cleaning" hint="Once per stay" {...field('cleaningFee')} {...currency} />
        <NumberInput
          label="Turnover"
          hint="Kept free after each guest or owner stay"
          suffix="nights"
          min={0}
          {...field('turnoverNights')}
        />
        <MoneyInput
          label="Extra bed per night"
          hint="On request, for stays with children"
          {...field('extraBedFee')}
          {...currency}
        />
      </div>
    </Card>
  )
}

/** What nights of a day of the week cost more or less. */
function WeekdaysCard({ editing: { draft, errors, change } }: { editing: RatesEditing }) {
  return (
    <Card title="Days of the week">
      <div class="form">
        <p class="units-text">
          Added to the price of each night, as a percentage, in and out of season. A negative number makes nights
          cheaper.
        </p>
        <div class="rates-weekdays">
          {draft.weekdays.map((pct, index) => {
            const name = weekdayText(index + 1)
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
