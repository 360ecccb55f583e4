import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, DescriptionList, PageHeader, Tabs, useTab } from '../../design/card.tsx'
import { ConfirmDialog, LeaveGuard } from '../../design/dialog.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { Icon } from '../../design/icon.tsx'
import { toast } from '../../design/toast.tsx'
import { count } from '../../format/numbers.ts'
import { CalendarFeedCard } from './calendar-feed.tsx'
import { NightsView } from './nights/nights-view.tsx'
import { RatesView } from './rates/rates-view.tsx'
import { useRates } from './rates/use-rates.ts'
import { RestrictionsView } from './restrictions/restrictions-view.tsx'
import { useRestrictions } from './restrictions/use-restrictions.ts'
import { EditUnit } from './unit-dialog.tsx'
import { placeOf, sizeOf, UNIT_STATUSES, type Unit, type UnitStatus } from './unit-words.ts'

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
  const restrictions = useRestrictions(slug)
  const unsaved = [
    ...(rates.editing?.isUnsaved === true ? ['rates'] : []),
    ...(restrictions.editing?.isUnsaved === true ? ['restrictions'] : []),
  ]
  const labelOf = (name: string, key: string) => (unsaved.includes(key) ? `${name} (not saved)` : name)
  const tabs = [
    { key: 'rates', label: labelOf('Rates', 'rates') },
    { key: 'restrictions', label: labelOf('Restrictions', 'restrictions') },
    { key: 'calendar', label: 'Calendar' },
    { key: 'details', label: 'Details' },
  ]
  const tab = useTab(tabs)
  const failed = [{ error, refresh }, rates, restrictions].find((read) => read.error !== null)
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
          {failed !== undefined && <ErrorNote problem={failed.error} onRetry={failed.refresh} />}
          {unit !== undefined && <Tabs label="Parts of the unit" tabs={tabs} />}
          {unit === undefined && error === null && <Skeleton lines={8} />}
          {unit !== undefined && tab === 'details' && <UnitDetails unit={unit} />}
          {unit !== undefined && tab === 'calendar' && <NightsView key={slug} slug={slug} />}
          {unit !== undefined && tab === 'restrictions' && restrictions.editing !== null && (
            <RestrictionsView editing={restrictions.editing} />
          )}
          {unit !== undefined && tab === 'rates' && rates.editing !== null && <RatesView editing={rates.editing} />}
        </>
      )}
      {unit !== undefined && isEditing && <EditUnit unit={unit} onClose={() => setEditing(false)} />}
      <LeaveGuard
        isUnsaved={unsaved.length > 0}
        what={`The ${unsaved.join(' and ')} of ${unit?.name ?? 'the unit'} have unsaved changes, which are lost if you leave.`}
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

function UnitDetails({ unit }: { unit: Unit }) {
  const { label, tone, hint } = UNIT_STATUSES[unit.status]
  return (
    <div class="units-details">
      <Card title="Details">
        <DescriptionList
          items={[
            [
              'Status',
              <span key="status">
                <Badge tone={tone}>{label}</Badge> <span class="muted">{hint}</span>
              </span>,
            ],
            ['Slug', <code key="slug">{unit.slug}</code>],
            ['Building', unit.building],
            ['Area', unit.area],
            ['City', unit.city],
            ['Registration number', unit.registrationNumber],
            ['Guests', `Up to ${count(unit.maxGuests)}`],
            ['Bedrooms', unit.bedrooms === 0 ? 'Studio' : count(unit.bedrooms)],
            ['Beds', count(unit.beds)],
            ['Bathrooms', count(unit.bathrooms)],
            ['Size', unit.sizeSqm === null ? null : `${count(unit.sizeSqm)} m²`],
            ['Check-in', `From ${unit.checkinTime}`],
            ['Check-out', `Until ${unit.checkoutTime}`],
            ['Booking', unit.instantBook ? 'Instant' : 'You confirm each stay'],
          ]}
        />
      </Card>
      <CalendarFeedCard unit={unit} />
    </div>
  )
}

const DONE: Readonly<Record<UnitStatus, string>> = {
  active: 'is active',
  draft: 'is a draft again',
  archived: 'is archived',
}

interface Change {
  readonly status: UnitStatus
  readonly before: UnitStatus
}

function useStatusChange(unit: Unit, report: 'inline' | 'toast', onDone: (change: Change) => void) {
  const { path } = useSession()
  return useMutation({
    send: ({ status }: Change, header) =>
      answerOf(
        client.PATCH('/portal/v1/agencies/{agencySlug}/units/{unitSlug}', {
          params: { path: { ...path, unitSlug: unit.slug }, header },
          body: { status },
        }),
      ),
    invalidates: ['units'],
    onDone: (_, change) => onDone(change),
    report,
  })
}

/** Buttons that archive a unit, and bring it back. */
function UnitStatusButtons({ unit }: { unit: Unit }) {
  const [isAsking, setAsking] = useState(false)
  const done = ({ status, before }: Change) => {
    setAsking(false)
    const undo = () => void direct.run({ status: before, before: status })
    toast({ tone: 'good', text: `${unit.name} ${DONE[status]}`, undo })
  }
  const direct = useStatusChange(unit, 'toast', done)
  const archiving = useStatusChange(unit, 'inline', done)
  if (unit.status === 'archived') {
    return (
      <Button isBusy={direct.isRunning} onClick={() => void direct.run({ status: 'active', before: 'archived' })}>
        Reactivate
      </Button>
    )
  }
  return (
    <>
      {unit.status === 'draft' && (
        <Button isBusy={direct.isRunning} onClick={() => void direct.run({ status: 'active', before: 'draft' })}>
          Make active
        </Button>
      )}
      <Button
        onClick={() => {
          archiving.reset()
          setAsking(true)
        }}
      >
        Archive
      </Button>
      {isAsking && (
        <ConfirmDialog
          title={`Archive ${unit.name}?`}
          action="Archive unit"
          isBusy={archiving.isRunning}
          problem={archiving.problem}
          onConfirm={() => void archiving.run({ status: 'archived', before: unit.status })}
          onClose={() => setAsking(false)}
        >
          <p>
            {UNIT_STATUSES.archived.hint} Its bookings and rates stay as they are. Channels no longer get its calendar.
            You can reactivate it at any time.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
