import { Badge } from '../../design/badge.tsx'
import { Card, DescriptionList } from '../../design/card.tsx'
import { count } from '../../format/numbers.ts'
import { CalendarFeedCard } from './calendar-feed.tsx'
import { UNIT_STATUSES, type Unit } from './unit-words.ts'

export function UnitDetails({ unit }: { unit: Unit }) {
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
