import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, PageHeader, Tabs, useTab } from '../../design/card.tsx'
import { LeaveGuard } from '../../design/dialog.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Icon } from '../../design/icon.tsx'
import { EditUnit } from './edit-unit.tsx'
import { RatesView } from './rates/rates-view.tsx'
import { useRates } from './rates/use-rates.ts'
import { UnitDetails } from './unit-details.tsx'
import { UnitStatusButtons } from './unit-status.tsx'
import { placeOf, sizeOf, UNIT_STATUSES, type Unit } from './unit-words.ts'

export function UnitPage({ slug }: { slug: string }) {
  const { path, may } = useSession()
  const [isEditing, setEditing] = useState(false)
  const { data, error, refresh } = useResource(`units/${slug}`, (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}', {
        params: { path: { ...path, unitSlug: slug } },
        signal,
      }),
    ),
  )
  const unit = data?.unit
  const rates = useRates(slug, unit)
  const isUnsaved = rates.editing?.isUnsaved === true
  const tabs = [
    { key: 'rates', label: isUnsaved ? 'Rates (not saved)' : 'Rates' },
    { key: 'details', label: 'Details' },
  ]
  const tab = useTab(tabs)
  return (
    <>
      <div class="units-head">
        <a class="units-back" href="#/units">
          <Icon name="left" size={14} />
          Units and rates
        </a>
        <PageHeader
          title={unit?.name ?? 'Unit'}
          description={unit !== undefined && <Summary unit={unit} />}
          actions={
            unit !== undefined &&
            may('manager') && (
              <>
                <UnitStatusButtons unit={unit} />
                <Button icon="edit" onClick={() => setEditing(true)}>
                  Edit details
                </Button>
              </>
            )
          }
        />
      </div>
      {unit === undefined && error?.status === 404 ? (
        <Card>
          <EmptyState icon="units" title="Unit not found" action={<LinkButton href="#/units">All units</LinkButton>}>
            Its slug may have changed.
          </EmptyState>
        </Card>
      ) : (
        <>
          <ErrorNote problem={error ?? rates.error} onRetry={error === null ? rates.refresh : refresh} />
          {unit !== undefined && <Tabs label="Parts of the unit" tabs={tabs} />}
          {unit === undefined && error === null && <Skeleton lines={8} />}
          {unit !== undefined && tab === 'details' && <UnitDetails unit={unit} />}
          {unit !== undefined && tab === 'rates' && rates.editing !== null && <RatesView editing={rates.editing} />}
        </>
      )}
      {unit !== undefined && isEditing && <EditUnit unit={unit} onClose={() => setEditing(false)} />}
      <LeaveGuard
        isUnsaved={isUnsaved}
        what={`The rates of ${unit?.name ?? 'the unit'} have unsaved changes, which are lost if you leave.`}
      />
    </>
  )
}

function Summary({ unit }: { unit: Unit }) {
  const { label, tone } = UNIT_STATUSES[unit.status]
  const place = placeOf(unit)
  return (
    <span class="units-summary">
      <Badge tone={tone}>{label}</Badge>
      <span>{[place, sizeOf(unit)].filter((part) => part !== '').join(' · ')}</span>
    </span>
  )
}
