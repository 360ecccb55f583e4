/** One of several choices: below each other with hints, or side by side. */
import './choices.css'
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

/** A few choices side by side, of which one is chosen. */
export function Segments<V extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: V
  options: readonly { readonly value: V; readonly label: string }[]
  onChange: (value: V) => void
}) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value} class="segment">
          <input
            type="radio"
            name={label}
            class="visually-hidden"
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  )
}
