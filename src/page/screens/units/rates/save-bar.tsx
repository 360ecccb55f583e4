import { useState } from 'preact/hooks'
import { useSession } from '../../../data/use-session.ts'
import { Button } from '../../../design/button.tsx'
import { Dialog } from '../../../design/dialog.tsx'
import { ErrorNote } from '../../../design/feedback.tsx'
import { Icon } from '../../../design/icon.tsx'
import { plural } from '../../../format/numbers.ts'
import { ratesChanges } from './rates-changes.ts'
import { changedPrices, ratesOf } from './rates-draft.ts'
import type { RatesEditing } from './use-rates.ts'

/** Says that something is not saved, and what; saves it or gives it up. */
export function SaveBar({ editing }: { editing: RatesEditing }) {
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
