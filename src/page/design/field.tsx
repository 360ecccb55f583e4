import './field.css'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Icon } from './icon.tsx'

export interface FieldProps {
  label: string
  /** What to enter, or what it is for. */
  hint?: ComponentChildren
  /** Why the entry is refused. */
  error?: string | undefined
  /** Says that it may be left empty. */
  isOptional?: boolean | undefined
  /** The label is only read out: for filters, whose meaning is plain. */
  isLabelHidden?: boolean | undefined
}

/** To be spread on the control. */
interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
}

/** Label, hint and error around a control of any kind. The inputs below have it built in. */
export function Field({
  label,
  hint,
  error,
  isOptional = false,
  isLabelHidden = false,
  children,
}: FieldProps & { children: (control: ControlProps) => ComponentChildren }) {
  const id = useId()
  const hasHint = hint !== undefined && hint !== null
  const describedBy = [hasHint ? `${id}-hint` : null, error !== undefined ? `${id}-error` : null].filter(Boolean)
  return (
    <div class="field">
      <label class={isLabelHidden ? 'visually-hidden' : 'field-label'} for={id}>
        {label}
        {isOptional && <span class="field-optional"> optional</span>}
      </label>
      {children({
        id,
        'aria-describedby': describedBy.length === 0 ? undefined : describedBy.join(' '),
        'aria-invalid': error !== undefined,
      })}
      {hasHint && (
        <div class="field-hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error !== undefined && (
        <div class="field-error" id={`${id}-error`}>
          <Icon name="warning" size={14} />
          <span>{error}</span>
        </div>
      )}
    </div>
  )
}
