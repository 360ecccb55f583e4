import './rates.css'
import { useState } from 'preact/hooks'
import { useSession } from '../../../data/use-session.ts'
import { Button } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { Dialog } from '../../../design/dialog.tsx'
import { ErrorNote, Note } from '../../../design/feedback.tsx'
import { Icon } from '../../../design/icon.tsx'
import { Field, MoneyInput, NumberInput } from '../../../design/inputs.tsx'
import { dayText } from '../../../format/days.ts'
import { plural } from '../../../format/numbers.ts'
import { DiscountsCard } from './discounts-card.tsx'
import { PricePreview } from './price-preview.tsx'
import { ratesChanges } from './rates-changes.ts'
import { changedPrices, type PriceField, ratesOf, weekdayField } from './rates-draft.ts'
import { SeasonsCard } from './seasons-card.tsx'
import type { RatesEditing } from './use-rates.ts'

/** The fields of a unit's rates, and beside them what they come to. */
export function RatesView({ editing }: { editing: RatesEditing }) {
  const { may } = useSession()
  const mayChange = may('manager')
  return (
    <>
      <ConflictNote editing={editing} />
      {!mayChange && <Note>You can price any stay here. Only managers and owners can change rates.</Note>}
      <div class="rates">
        <fieldset class="rates-fields" disabled={!mayChange} aria-label="Rates">
          <SeasonsCard editing={editing} mayChange={mayChange} />
          <PricesCard editing={editing} />
          <WeekdaysCard editing={editing} />
          <DiscountsCard editing={editing} mayChange={mayChange} />
        </fieldset>
        <PricePreview editing={editing} />
      </div>
      {editing.isUnsaved && <SaveBar editing={editing} />}
    </>
  )
}

/** A colleague has saved other rates since these were read: says which, and leaves the choice. */
function ConflictNote({ editing: { base, theirs, takeTheirs, keepMine } }: { editing: RatesEditing }) {
  const { currency } = useSession()
  if (theirs === null) return null
  const changes = ratesChanges({ rates: base.rates, prices: {} }, { rates: theirs, prices: {} }, currency)
  return (
    <Note tone="warn" role="alert">
      <p>
        <strong>Someone else has changed these rates in the meantime.</strong> Your changes are not saved, but they are
        not lost. What changed:
      </p>
      <ul>
        {changes.map((change) => (
          <li key={change}>{change}</li>
        ))}
      </ul>
      <div class="rates-conflict-buttons">
        <Button size="s" onClick={takeTheirs}>
          Use theirs
        </Button>
        <Button size="s" onClick={keepMine}>
          Keep mine
        </Button>
      </div>
    </Note>
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
      <div class="rates-pairs">
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

/** A Monday, to name the days of the week after. */
const MONDAY = 4

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

/** Says that something is not saved, and what; saves it or gives it up. */
function SaveBar({ editing }: { editing: RatesEditing }) {
  const { currency } = useSession()
  const [isOpen, setOpen] = useState(false)
  const { base, draft, errors, isSaving, problem, theirs, save, discard } = editing
  const changes =
    errors.size > 0
      ? []
      : ratesChanges(
          base,
          { rates: ratesOf(draft), prices: { ...base.prices, ...changedPrices(base.prices, draft) } },
          currency,
        )
  return (
    <section class="save-bar" aria-label="Unsaved changes">
      <ErrorNote problem={problem} />
      <div class="save-bar-line">
        <Icon name={errors.size > 0 ? 'warning' : 'edit'} />
        <span class="save-bar-text" role="status">
          {errors.size > 0
            ? `Not saved: check ${plural(errors.size, 'field')}`
            : `${plural(changes.length, 'change')} not saved`}
        </span>
        {changes.length > 0 && (
          <Button tone="quiet" size="s" onClick={() => setOpen(true)}>
            Show
          </Button>
        )}
        <span class="save-bar-buttons">
          <Button disabled={isSaving} onClick={discard}>
            Discard
          </Button>
          <Button tone="primary" isBusy={isSaving} disabled={errors.size > 0 || theirs !== null} onClick={save}>
            Save rates
          </Button>
        </span>
      </div>
      {isOpen && (
        <Dialog
          title="Not saved yet"
          onClose={() => setOpen(false)}
          footer={
            <Button tone="primary" onClick={() => setOpen(false)}>
              Close
            </Button>
          }
        >
          <ul class="rates-changes">
            {changes.map((change) => (
              <li key={change}>{change}</li>
            ))}
          </ul>
        </Dialog>
      )}
    </section>
  )
}
