import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { FormDialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { Checkbox, FieldRow, MoneyInput, NumberInput, Select, TextInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { money, plural } from '../../format/numbers.ts'
import { EXAMPLE_NIGHTS, type ExampleStay } from './example-stay.tsx'
import { APPLICATIONS, type FeeType, feeOf } from './fee-words.ts'

type Draft = Omit<FeeType, 'id' | 'active'>

const NEW: Draft = {
  label: '',
  kind: 'fixed',
  amount: null,
  pct: null,
  includesWeeklyCleaning: false,
  application: 'every_stay',
}

const KINDS = [
  { value: 'fixed', label: 'Fixed amount per stay' },
  { value: 'percent', label: 'Percentage of the nights' },
] as const

/** @param props.fee null: a new one */
export function FeeDialog({
  fee,
  example,
  onClose,
}: {
  fee: FeeType | null
  example: ExampleStay
  onClose: () => void
}) {
  const { path, currency } = useSession()
  const [draft, setDraft] = useState<Draft>(fee ?? NEW)
  const [isSubmitted, setSubmitted] = useState(false)
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change })
  const { run, isRunning, problem } = useMutation({
    send: (body: Draft, header) =>
      fee === null
        ? answerOf(client.POST('/portal/v1/agencies/{agencySlug}/fee-types', { params: { path, header }, body }))
        : answerOf(
            client.PATCH('/portal/v1/agencies/{agencySlug}/fee-types/{feeTypeId}', {
              params: { path: { ...path, feeTypeId: fee.id }, header },
              body: changeOf(fee, body),
            }),
          ),
    invalidates: ['fees'],
    onDone: ({ feeType }) => {
      toast({
        tone: 'good',
        text: fee === null ? `${feeType.label} has been added` : `${feeType.label} has been saved`,
      })
      onClose()
    },
    report: 'inline',
  })
  const missing = {
    label: draft.label.trim() === '' ? 'Enter a name.' : undefined,
    amount: draft.kind === 'fixed' && draft.amount === null ? 'Enter an amount.' : undefined,
    pct: draft.kind === 'percent' && draft.pct === null ? 'Enter a percentage.' : undefined,
  }
  const isMissing = Object.values(missing).some((error) => error !== undefined)
  const errorOf = (field: keyof typeof missing) => (isSubmitted ? missing[field] : undefined) ?? problem?.of(field)
  const submit = () => {
    setSubmitted(true)
    if (isMissing) return
    const { label, kind, amount, pct, includesWeeklyCleaning, application } = draft
    const body: Draft = {
      label: label.trim(),
      kind,
      includesWeeklyCleaning,
      application,
      amount: kind === 'fixed' ? amount : null,
      pct: kind === 'percent' ? pct : null,
    }
    if (fee !== null && Object.keys(changeOf(fee, body)).length === 0) onClose()
    else void run(body)
  }
  return (
    <FormDialog
      title={fee === null ? 'Add fee' : `Edit ${fee.label}`}
      onClose={onClose}
      onSubmit={submit}
      action={fee === null ? 'Add fee' : 'Save fee'}
      isBusy={isRunning}
    >
      <TextInput
        label="Name"
        hint="Guests see this name in their quote."
        autocomplete="off"
        autofocus
        value={draft.label}
        onChange={(label) => set({ label })}
        error={errorOf('label')}
      />
      <FieldRow>
        <Select label="Type" value={draft.kind} onChange={(kind) => set({ kind })} options={KINDS} />
        {draft.kind === 'fixed' ? (
          <MoneyInput
            label="Amount"
            value={draft.amount}
            onChange={(amount) => set({ amount })}
            error={errorOf('amount')}
            {...currency}
          />
        ) : (
          <NumberInput
            label="Percentage"
            suffix="%"
            min={0}
            max={100}
            step={0.01}
            value={draft.pct}
            onChange={(pct) => set({ pct })}
            error={errorOf('pct')}
          />
        )}
      </FieldRow>
      <Select
        label="Applies to"
        value={draft.application}
        onChange={(application) => set({ application })}
        options={APPLICATIONS}
        hint={APPLICATIONS.find(({ value }) => value === draft.application)?.hint}
      />
      <Checkbox
        label="Includes weekly cleaning"
        hint="Partners show it to guests of long stays."
        isChecked={draft.includesWeeklyCleaning}
        onChange={(includesWeeklyCleaning) => set({ includesWeeklyCleaning })}
      />
      <Example draft={draft} isComplete={missing.amount === undefined && missing.pct === undefined} example={example} />
      <ErrorNote problem={problem} />
    </FormDialog>
  )
}

/** Only what differs, so that a colleague's change of the rest stays. The price is one thing: each kind has its own member. */
function changeOf(before: Draft, after: Draft): Partial<Draft> {
  const { kind, amount, pct, ...rest } = after
  const isSamePrice = kind === before.kind && amount === before.amount && pct === before.pct
  const differing = Object.entries(rest).filter(([name, value]) => before[name as keyof Draft] !== value)
  return { ...Object.fromEntries(differing), ...(isSamePrice ? {} : { kind, amount, pct }) }
}

function Example({ draft, isComplete, example }: { draft: Draft; isComplete: boolean; example: ExampleStay }) {
  const { currency } = useSession()
  const { unit, accommodation } = example
  if (!isComplete || unit === undefined || accommodation === 0) return null
  const amount = money(feeOf(draft, accommodation), currency)
  const condition = draft.application === 'on_request' ? ', if the guest asks for it' : ''
  return (
    <Note role="status">
      <p>
        A stay of {plural(EXAMPLE_NIGHTS, 'night')} for 2 in {unit.name} ({money(accommodation, currency)}) pays{' '}
        <strong class="numeric">{amount}</strong>
        {condition}.
      </p>
    </Note>
  )
}
