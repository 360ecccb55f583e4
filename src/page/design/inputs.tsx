/** Inputs with label, hint and error: `<TextInput label="Name" value={name} onChange={setName} error={problem?.of('name')} />`. */
import './inputs.css'
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { moneyInput, parseMoney } from '../format/numbers.ts'
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

/** What every native input takes. */
interface InputOptions extends FieldProps {
  name?: string
  placeholder?: string
  autocomplete?: string
  autofocus?: boolean
  spellcheck?: boolean
  disabled?: boolean
  required?: boolean
  maxLength?: number
  onFocus?: () => void
  onBlur?: () => void
  onKeyDown?: (event: KeyboardEvent) => void
}

/** Splits what belongs to the field from what belongs to the native input. */
function split<P extends FieldProps>({ label, hint, error, isOptional, isLabelHidden, ...rest }: P) {
  return { field: { label, hint, error, isOptional, isLabelHidden }, rest }
}

interface TextInputProps extends InputOptions {
  value: string
  onChange: (value: string) => void
  type?: 'text' | 'search' | 'email' | 'tel' | 'url' | 'password' | 'time' | 'date'
  /** In a font in which similar characters differ: for ids and secrets. */
  isCode?: boolean
  /** Of a date: the first and the last that can be chosen, as `YYYY-MM-DD`. */
  min?: string
  max?: string
}

export function TextInput(props: TextInputProps) {
  const { field, rest } = split(props)
  const { value, onChange, type = 'text', isCode = false, ...native } = rest
  return (
    <Field {...field}>
      {(control) => (
        <input
          {...native}
          {...control}
          class={isCode ? 'input input-code' : type === 'date' ? 'input numeric' : 'input'}
          // A type for each kind of input, which a variable has not.
          type={type as 'text'}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** The browser's own date picker, which shows the day in the person's language. The value is `YYYY-MM-DD`, or empty. */
export function DateInput({ value, onChange, onBlur, ...props }: Omit<TextInputProps, 'type' | 'isCode'>) {
  // What is typed is no date before its end, or one that is not taken, such as one in the year 2. To draw the last one then would wipe it out.
  const [typed, setTyped] = useState<{ readonly text: string; readonly over: string } | null>(null)
  return (
    <TextInput
      {...props}
      type="date"
      value={typed?.over === value ? typed.text : value}
      onChange={(text) => {
        setTyped({ text, over: value })
        onChange(text)
      }}
      onBlur={() => {
        setTyped(null)
        onBlur?.()
      }}
    />
  )
}

interface TextAreaProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  rows?: number
  maxLength?: number
}

export function TextArea(props: TextAreaProps) {
  const { field, rest } = split(props)
  const { value, onChange, ...native } = rest
  return (
    <Field {...field}>
      {(control) => (
        <textarea
          rows={3}
          {...native}
          {...control}
          class="input"
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}

interface NumberInputProps extends InputOptions {
  value: number | null
  /** Null: empty, or not a number. */
  onChange: (value: number | null) => void
  min?: number
  max?: number
  step?: number
  /** Behind the number: `%`, `nights`. */
  suffix?: string
}

export function NumberInput(props: NumberInputProps) {
  const { field, rest } = split(props)
  const { value, onChange, suffix, ...native } = rest
  return (
    <Field {...field}>
      {(control) => (
        <Affixed suffix={suffix}>
          <input
            {...native}
            {...control}
            class="input numeric"
            type="number"
            inputMode="decimal"
            value={value ?? ''}
            onInput={({ currentTarget }) =>
              onChange(Number.isNaN(currentTarget.valueAsNumber) ? null : currentTarget.valueAsNumber)
            }
          />
        </Affixed>
      )}
    </Field>
  )
}

interface MoneyInputProps extends InputOptions {
  /** Minor units. */
  value: number | null
  /** Null: empty, or not an amount. */
  onChange: (value: number | null) => void
  currency: string
  /** Decimals of the currency, as the service says. */
  digits: number
}

export function MoneyInput(props: MoneyInputProps) {
  const { field, rest } = split(props)
  const { value, onChange, currency, digits, ...native } = rest
  // What is being typed is left alone as long as it means the value.
  const [typed, setTyped] = useState(() => moneyInput(value, digits))
  const isCurrent = parseMoney(typed, digits) === value
  return (
    <Field {...field}>
      {(control) => (
        <Affixed suffix={currency}>
          <input
            {...native}
            {...control}
            class="input numeric"
            type="text"
            inputMode={digits === 0 ? 'numeric' : 'decimal'}
            autocomplete="off"
            value={isCurrent ? typed : moneyInput(value, digits)}
            onInput={({ currentTarget }) => {
              setTyped(currentTarget.value)
              onChange(parseMoney(currentTarget.value, digits))
            }}
          />
        </Affixed>
      )}
    </Field>
  )
}

interface SelectProps<V extends string> extends FieldProps {
  value: V
  onChange: (value: V) => void
  options: readonly { readonly value: V; readonly label: string }[]
  disabled?: boolean
}

export function Select<V extends string>(props: SelectProps<V>) {
  const { field, rest } = split(props)
  const { value, onChange, options, disabled = false } = rest
  return (
    <Field {...field}>
      {(control) => (
        <div class="select">
          <select
            {...control}
            class="input"
            disabled={disabled}
            value={value}
            onChange={({ currentTarget }) => onChange(currentTarget.value as V)}
          >
            {options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.label}
              </option>
            ))}
          </select>
          <Icon name="down" />
        </div>
      )}
    </Field>
  )
}

interface ChoiceProps {
  label: ComponentChildren
  hint?: ComponentChildren
}

interface CheckboxProps extends ChoiceProps {
  isChecked: boolean
  onChange: (isChecked: boolean) => void
  disabled?: boolean
}

/** Something that is on or off. */
export function Checkbox(props: CheckboxProps) {
  return <Choice {...props} type="checkbox" />
}

interface RadioProps extends ChoiceProps {
  /** The same for all of them, so that arrow keys move among them. */
  group: string
  isChosen: boolean
  onChoose: () => void
}

/** One of several choices; put them in a `FieldSet`. */
export function Radio({ group, isChosen, onChoose, ...text }: RadioProps) {
  return <Choice {...text} type="radio" name={group} isChecked={isChosen} onChange={onChoose} />
}

function Choice({
  type,
  name,
  label,
  hint,
  isChecked,
  onChange,
  disabled = false,
}: CheckboxProps & { type: 'checkbox' | 'radio'; name?: string }) {
  const id = useId()
  return (
    <div class="checkbox">
      <input
        id={id}
        type={type}
        name={name}
        checked={isChecked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
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

/** Inputs that belong together, under one name. */
export function FieldSet({ legend, children }: { legend: string; children: ComponentChildren }) {
  return (
    <fieldset class="fieldset">
      <legend class="field-label">{legend}</legend>
      {children}
    </fieldset>
  )
}

/** Fields side by side; below each other on a phone. */
export function FieldRow({ children }: { children: ComponentChildren }) {
  return <div class="field-row">{children}</div>
}

function Affixed({ suffix, children }: { suffix: string | undefined; children: ComponentChildren }) {
  if (suffix === undefined) return <>{children}</>
  return (
    <div class="affixed">
      {children}
      <span class="affix" aria-hidden="true">
        {suffix}
      </span>
    </div>
  )
}
