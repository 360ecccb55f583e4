import type { ComponentChildren } from 'preact'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { ChangedMeanwhile } from './changed-meanwhile.tsx'
import type { VersionedWrite } from './versioned-write.ts'

/** One action on a booking: what it is about, and what came of it. What was entered stays until it succeeds. */
export function ActionDialog({
  title,
  action,
  tone = 'primary',
  write,
  canSubmit = true,
  onSubmit,
  onClose,
  children,
  width = 's',
}: {
  title: string
  /** On the button: "Check in". */
  action: string
  tone?: 'primary' | 'danger'
  write: Pick<VersionedWrite<never>, 'isRunning' | 'problem' | 'conflict'>
  canSubmit?: boolean
  onSubmit: () => void
  onClose: () => void
  children: ComponentChildren
  width?: 's' | 'm'
}) {
  const { isRunning, problem, conflict } = write
  return (
    <Dialog
      title={title}
      width={width}
      onClose={onClose}
      onSubmit={onSubmit}
      footer={
        <>
          <Button onClick={onClose}>{conflict === null ? 'Back' : 'Discard'}</Button>
          <Button type="submit" tone={tone} isBusy={isRunning} disabled={!canSubmit}>
            {conflict === null ? action : `${action} anyway`}
          </Button>
        </>
      }
    >
      {children}
      <ChangedMeanwhile conflict={conflict} />
      <ErrorNote problem={problem} />
    </Dialog>
  )
}
