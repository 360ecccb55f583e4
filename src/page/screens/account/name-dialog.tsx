import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Problem } from '../../api/problem.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote } from '../../design/feedback.tsx'
import { TextInput } from '../../design/inputs.tsx'

/** Asks for the name of a passkey. */
export function NameDialog({
  title,
  action,
  before,
  isBusy,
  isDisabled = false,
  problem,
  children,
  onSave,
  onClose,
}: {
  title: string
  action: string
  before: string
  isBusy: boolean
  isDisabled?: boolean
  problem: Problem | null
  children?: ComponentChildren
  onSave: (name: string) => void
  onClose: () => void
}) {
  const [name, setName] = useState(before)
  const [isSubmitted, setSubmitted] = useState(false)
  const submit = () => {
    setSubmitted(true)
    if (name.trim() !== '') onSave(name.trim())
  }
  return (
    <FormDialog
      title={title}
      width="s"
      onClose={onClose}
      onSubmit={submit}
      action={action}
      isBusy={isBusy}
      isDisabled={isDisabled}
    >
      {children}
      <TextInput
        label="Name"
        autocomplete="off"
        autofocus
        value={name}
        onChange={setName}
        error={isSubmitted && name.trim() === '' ? 'Enter a name.' : problem?.of('name')}
      />
      <ErrorNote problem={problem?.of('name') === undefined ? problem : null} />
    </FormDialog>
  )
}
