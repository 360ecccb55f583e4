import './fees.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Checkbox } from '../../design/inputs.tsx'
import { setQuery, useRoute } from '../../route/router.ts'
import { ExampleCard } from './example-card.tsx'
import { useExampleStay } from './example-stay.ts'
import { FeeDialog } from './fee-dialog.tsx'
import { FeeTable } from './fee-table.tsx'
import type { FeeType } from './fee-words.ts'

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
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton />}
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
