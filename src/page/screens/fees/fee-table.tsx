import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { money } from '../../format/numbers.ts'
import type { ExampleStay } from './example-stay.ts'
import { APPLICATIONS, type FeeType, feeAmount, feeOf } from './fee-words.ts'

/** @param props.onEdit left out: the person may not */
export function FeeTable({
  fees,
  example,
  onEdit,
}: {
  fees: readonly FeeType[]
  example: ExampleStay
  onEdit: ((fee: FeeType) => void) | undefined
}) {
  const { currency, path } = useSession()
  const { run, isRunning } = useMutation({
    send: ({ fee, active }: { fee: FeeType; active: boolean }, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/fee-types/{feeTypeId}', {
          params: { path: { ...path, feeTypeId: fee.id }, header },
          body: { active },
        }),
      ),
    invalidates: ['fees'],
    onDone: (_, { fee, active }) =>
      toast({
        tone: 'good',
        text: `${fee.label} is switched ${active ? 'on' : 'off'}`,
        undo: () => void run({ fee, active: !active }),
      }),
  })
  const columns: Column<FeeType>[] = [
    {
      key: 'label',
      head: 'Fee',
      cell: ({ label, active, includesWeeklyCleaning }) => (
        <div class="fees-label">
          <span>
            {label} {!active && <Badge>Switched off</Badge>}
          </span>
          {includesWeeklyCleaning && <span class="fees-detail">Includes weekly cleaning</span>}
        </div>
      ),
    },
    {
      key: 'amount',
      head: 'Amount',
      cell: (fee) => <span class="numeric">{feeAmount(fee, currency)}</span>,
    },
    {
      key: 'application',
      head: 'Applies to',
      cell: ({ application }) => {
        const { short = application } = APPLICATIONS.find(({ value }) => value === application) ?? {}
        return <Badge tone={application === 'every_stay' ? 'accent' : 'neutral'}>{short}</Badge>
      },
    },
    {
      key: 'example',
      head: 'In the example',
      align: 'end',
      cell: (fee) => {
        if (!fee.active) return <span class="muted">Nothing</span>
        if (example.accommodation === 0) return <span class="muted">…</span>
        const amount = money(feeOf(fee, example.accommodation), currency)
        return fee.application === 'every_stay' ? amount : <span class="muted">{amount} if asked for</span>
      },
    },
  ]
  if (onEdit !== undefined) {
    columns.push({
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: (fee) => (
        <>
          <Button tone="quiet" size="s" aria-label={`Edit ${fee.label}`} onClick={() => onEdit(fee)}>
            Edit
          </Button>
          <Button
            tone="quiet"
            size="s"
            disabled={isRunning}
            aria-label={`Switch ${fee.active ? 'off' : 'on'} ${fee.label}`}
            onClick={() => void run({ fee, active: !fee.active })}
          >
            {fee.active ? 'Switch off' : 'Switch on'}
          </Button>
        </>
      ),
    })
  }
  return (
    <Table caption="Fees" columns={columns} rows={fees} rowKey={({ id }) => id} isFaded={({ active }) => !active} />
  )
}
