import './units.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader, Toolbar } from '../../design/card.tsx'
import { EmptyState, LoadStatus } from '../../design/feedback.tsx'
import { Select, TextInput } from '../../design/inputs.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { money, plural } from '../../format/numbers.ts'
import { hashOf } from '../../route/route.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { useUnits } from '../../stays/use-units.ts'
import { NewUnit } from './unit-dialog.tsx'
import { UnitPage } from './unit-page.tsx'
import { placeOf, sizeOf, UNIT_STATUSES, type Unit } from './unit-words.ts'

const LIVE = ['units']
const LIVE_EVENTS = ['unit.', 'rates.']

/** The list of units, or one of them: `#/units/sea-view`. */
export function UnitsScreen() {
  useLiveStays(LIVE, LIVE_EVENTS)
  const { path } = useRoute()
  const slug = path[1]
  const last = useRef(slug)
  useEffect(() => {
    if (last.current === slug) return
    last.current = slug
    scrollTo(0, 0)
    // A screen reader continues at the name of what is shown now.
    document.querySelector<HTMLElement>('main h1')?.focus()
  }, [slug])
  return slug === undefined ? <UnitList /> : <UnitPage key={slug} slug={slug} />
}

const FILTERS = [
  { value: 'rented', label: 'Active and draft' },
  { value: 'active', label: 'Active' },
  { value: 'draft', label: 'Draft' },
  { value: 'archived', label: 'Archived' },
  { value: 'all', label: 'All' },
] as const

type Filter = (typeof FILTERS)[number]['value']

function UnitList() {
  const { may } = useSession()
  const { query } = useRoute()
  const [isCreating, setCreating] = useState(false)
  const { data: units, error, refresh } = useUnits()
  const filter = FILTERS.find(({ value }) => value === query['status'])?.value ?? 'rented'
  const text = query['q'] ?? ''
  const shown = (units ?? []).filter((unit) => passes(unit, filter) && matches(unit, text))
  const create = may('manager') && (
    <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
      Add unit
    </Button>
  )
  return (
    <>
      <PageHeader title="Units and rates" description="What you rent out, and what it costs." actions={create} />
      <LoadStatus of={{ data: units, error, refresh }} lines={6} />
      {units !== undefined && units.length > 0 && (
        <Toolbar>
          <TextInput
            label="Search"
            isLabelHidden
            type="search"
            placeholder="Name or location"
            value={text}
            onChange={(q) => setQuery({ q }, { replace: true })}
          />
          <Select
            label="Status"
            isLabelHidden
            value={filter}
            onChange={(status) => setQuery({ status: status === 'rented' ? null : status }, { replace: true })}
            options={FILTERS}
          />
          <span class="units-count" role="status">
            {plural(shown.length, 'unit')}
          </span>
        </Toolbar>
      )}
      {units !== undefined && (
        <Card isFlush>
          {units.length === 0 ? (
            <EmptyState icon="units" title="No units yet" action={create}>
              {may('manager')
                ? 'Add the first flat, house or room that you rent out. You set its prices next.'
                : 'Managers and owners can add them.'}
            </EmptyState>
          ) : shown.length === 0 ? (
            <EmptyState
              icon="search"
              title="No units match"
              action={<Button onClick={() => setQuery({ q: null, status: 'all' })}>Show all units</Button>}
            >
              {text === '' ? 'No unit has this status.' : `No unit has “${text}” in its name or location.`}
            </EmptyState>
          ) : (
            <UnitTable units={shown} />
          )}
        </Card>
      )}
      {isCreating && <NewUnit onClose={() => setCreating(false)} />}
    </>
  )
}

function UnitTable({ units }: { units: readonly Unit[] }) {
  const { currency } = useSession()
  const columns: Column<Unit>[] = [
    {
      key: 'name',
      head: 'Unit',
      cell: (unit) => (
        <span class="units-name">
          <span>{unit.name}</span>
          {placeOf(unit) !== '' && <span class="units-place">{placeOf(unit)}</span>}
        </span>
      ),
    },
    {
      key: 'status',
      head: 'Status',
      cell: ({ status }) => <Badge tone={UNIT_STATUSES[status].tone}>{UNIT_STATUSES[status].label}</Badge>,
    },
    { key: 'size', head: 'Size', cell: sizeOf },
    { key: 'price', head: 'Base price', align: 'end', cell: ({ basePrice }) => money(basePrice, currency) },
    {
      key: 'cleaning',
      head: 'Cleaning',
      align: 'end',
      isMinor: true,
      cell: (unit) => money(unit.cleaningFee, currency),
    },
    { key: 'minStay', head: 'Minimum stay', align: 'end', cell: ({ minStay }) => plural(minStay, 'night') },
  ]
  return (
    <Table
      caption="Units"
      columns={columns}
      rows={units}
      rowKey={({ id }) => id}
      rowHref={({ slug }) => hashOf(['units', slug])}
      isFaded={({ status }) => status === 'archived'}
    />
  )
}

function passes({ status }: Unit, filter: Filter): boolean {
  return filter === 'all' || (filter === 'rented' ? status !== 'archived' : status === filter)
}

function matches(unit: Unit, text: string): boolean {
  const plain = (given: string) => given.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const wanted = plain(text).split(/\s+/)
  const words = plain(`${unit.name} ${placeOf(unit)} ${unit.slug}`)
  return wanted.every((word) => words.includes(word))
}
