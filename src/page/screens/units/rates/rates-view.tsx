import './rates.css'
import { useSession } from '../../../data/use-session.ts'
import { Note } from '../../../design/feedback.tsx'
import { ConflictNote } from './conflict-note.tsx'
import { DiscountsCard } from './discounts-card.tsx'
import { PricePreview } from './price-preview.tsx'
import { PricesCard } from './prices-card.tsx'
import { SaveBar } from './save-bar.tsx'
import { SeasonsCard } from './seasons-card.tsx'
import type { RatesEditing } from './use-rates.ts'
import { WeekdaysCard } from './weekdays-card.tsx'

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
