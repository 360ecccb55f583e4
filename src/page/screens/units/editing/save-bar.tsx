import './editing.css'
import { useState } from 'preact/hooks'
import { Button } from '../../../design/button.tsx'
import { Dialog } from '../../../design/dialog.tsx'
import { ErrorNote, Note } from '../../../design/feedback.tsx'
import { Icon } from '../../../design/icon.tsx'
import { plural } from '../../../format/numbers.ts'
import type { Editing } from './use-draft.ts'

type AnyEditing = Editing<unknown, never>

/** Drawn if a colleague has saved something else in the meantime: lists what changed, and asks which version to use. */
export function ConflictNote({
  what,
  changes,
  editing: { takeTheirs, keepMine },
}: {
  /** `rates`. */
  what: string
  changes: readonly string[]
  editing: Pick<AnyEditing, 'takeTheirs' | 'keepMine'>
}) {
  return (
    <Note tone="warn" role="alert">
      <p>
        <strong>Someone else has changed these {what} in the meantime.</strong> Your changes are not saved, but they are
        not lost. What changed:
      </p>
      <Changes changes={changes} />
      <div class="conflict-buttons">
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

/** Says what is not saved, and saves or discards it. */
export function SaveBar({
  action,
  changes,
  editing: { errors, isSaving, problem, theirs, save, discard },
}: {
  /** `Save rates`. */
  action: string
  /** Empty while there are errors. */
  changes: readonly string[]
  editing: Pick<AnyEditing, 'errors' | 'isSaving' | 'problem' | 'theirs' | 'save' | 'discard'>
}) {
  const [isOpen, setOpen] = useState(false)
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
            {action}
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
          <Changes changes={changes} />
        </Dialog>
      )}
    </section>
  )
}

function Changes({ changes }: { changes: readonly string[] }) {
  return (
    <ul class="save-bar-changes">
      {changes.map((change) => (
        <li key={change}>{change}</li>
      ))}
    </ul>
  )
}
