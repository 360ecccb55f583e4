import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** One of several choices; put them in a `FieldSet`. `group`: the same for all of them, so that arrow keys move among them. */
export function Radio({
  group,
  label,
  hint,
  isChosen,
  onChoose,
}: {
  group: string
  label: ComponentChildren
  hint?: ComponentChildren
  isChosen: boolean
  onChoose: () => void
}) {
  const id = useId()
  return (
    <div class="checkbox">
      <input
        id={id}
        type="radio"
        name={group}
        checked={isChosen}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={onChoose}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <div class="field-hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  )
}
