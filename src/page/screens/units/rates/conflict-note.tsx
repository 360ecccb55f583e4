import { useSession } from '../../../data/use-session.ts'
import { Button } from '../../../design/button.tsx'
import { Note } from '../../../design/feedback.tsx'
import { ratesChanges } from './rates-changes.ts'
import type { RatesEditing } from './use-rates.ts'

/** A colleague has saved other rates since these were read: says which, and leaves the choice. */
export function ConflictNote({ editing: { base, theirs, takeTheirs, keepMine } }: { editing: RatesEditing }) {
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
