import './fees.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, LoadStatus } from '../../design/feedback.tsx'
import { Checkbox } from '../../design/inputs.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { money } from '../../format/numbers.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { ExampleCard, type ExampleStay, useExampleStay } from './example-stay.tsx'
import { FeeDialog } from './fee-dialog.tsx'
import { APPLICATIONS, type FeeType, feeAmount, feeOf } from './fee-words.ts'

const FEE_TYPES_MAX = 200

/** What stays cost besides their nights. */
export function FeesScreen() {
  const { path, may } = useSession()
  const { query } = useRoute()
  const [editing, setEditing] = useState<FeeType | 'new' | null>(null)
  const { data, error, refresh } = useResource('fees', (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/fee-types', {
        params: { path, query: { pageSize: FEE_TYPES_MAX } },
        signal,
      }),
    ),
  )
  const example = useExampleStay()
  const mayChange = may('manager')
  const showsAll = query['all'] === 'true'
  const all = data?.feeTypes ?? []
  const fees = all.filter(({ active }) => active || showsAll)
  const offCount = all.filter(({ active }) => !active).length
  const create = mayChange && (
    <Button tone="primary" icon="plus" onClick={() => setEditing('new')}>
      Add fee
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Fees"
        description={
          mayChange
            ? 'What guests pay besides the nights and the cleaning of the unit. Changes apply from the next quote. Existing bookings keep their totals.'
            : 'What guests pay besides the nights and the cleaning of the unit. Only managers and owners can change them.'
        }
        actions={create}
      />
      <LoadStatus of={{ data, error, refresh }} />
      {data !== undefined && (
        <div class="fees">
          <div class="fees-list">
            <Card isFlush>
              {fees.length === 0 ? (
                <EmptyState
                  icon="fees"
                  title={offCount > 0 ? 'Every fee is switched off' : 'No fees yet'}
                  action={create}
                >
                  {mayChange
                    ? 'Add a city tax, a service fee, or an extra that guests can ask for.'
                    : 'Guests pay only for the nights and the cleaning of the unit.'}
                </EmptyState>
              ) : (
                <FeeTable fees={fees} example={example} onEdit={mayChange ? setEditing : undefined} />
              )}
            </Card>
            {offCount > 0 && (
              <Checkbox
                label={`Show fees that are switched off (${offCount})`}
                isChecked={showsAll}
                onChange={(isChecked) => setQuery({ all: isChecked ? true : null }, { replace: true })}
              />
            )}
          </div>
          <ExampleCard example={example} />
        </div>
      )}
      {editing !== null && (
        <FeeDialog fee={editing === 'new' ? null : editing} example={example} onClose={() => setEditing(null)} />
      )}
    </>
  )
}

/** @param props.onEdit left out: the person may not */
function FeeTable({
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
