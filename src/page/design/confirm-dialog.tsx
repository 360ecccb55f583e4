import type { ComponentChildren } from 'preact'
import type { Problem } from '../api/problem.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorNote } from './feedback.tsx'

/** Asks before something that cannot be undone. `action` says what happens: "Revoke key", never "OK". */
export function ConfirmDialog({
  title,
  children,
  action,
  tone = 'danger',
  isBusy = false,
  problem = null,
  onConfirm,
  onClose,
}: {
  title: string
  /** What follows from it. */
  children: ComponentChildren
  action: string
  tone?: 'danger' | 'primary'
  isBusy?: boolean
  problem?: Problem | null
  onConfirm: () => void
  onClose: () => void
}) {
  return (
    <Dialog
      title={title}
      width="s"
      onClose={onClose}
      onSubmit={onConfirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={tone} isBusy={isBusy}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      <ErrorNote problem={problem} />
    </Dialog>
  )
}
