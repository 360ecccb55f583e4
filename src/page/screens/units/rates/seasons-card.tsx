import { useState } from 'preact/hooks'
import { useSession } from '../../../data/use-session.ts'
import { Button } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { EmptyState } from '../../../design/feedback.tsx'
import { toast } from '../../../design/toast.tsx'
import { todayIn } from '../../../format/days.ts'
import { plural } from '../../../format/numbers.ts'
import { dayOrNull, newKey, nextYear, type SeasonDraft } from './rates-draft.ts'
import { SeasonRow } from './season-row.tsx'
import type { RatesEditing } from './use-rates.ts'

/** Periods with a nightly price of their own. */
export function SeasonsCard({ editing, mayChange }: { editing: RatesEditing; mayChange: boolean }) {
  const { agency } = useSession()
  const { draft, base, change } = editing
  const { seasons } = draft
  const [open, setOpen] = useState<number | null>(null)
  const [showsPast, setShowsPast] = useState(false)
  const today = todayIn(agency.timezone)
  const isPast = ({ key, lastNight }: SeasonDraft) => key !== open && (dayOrNull(lastNight) ?? today) < today
  const past = seasons.filter(isPast)
  const shown = showsPast ? seasons : seasons.filter((season) => !isPast(season))

  const insert = (season: SeasonDraft, after: SeasonDraft | undefined) => {
    const index = after === undefined ? seasons.length : seasons.indexOf(after) + 1
    change({ seasons: seasons.toSpliced(index, 0, season) })
    setOpen(season.key)
  }
  const add = mayChange && (
    <Button
      size="s"
      icon="plus"
      onClick={() =>
        insert(
          { ...{ key: newKey(), name: '', from: '', lastNight: '', nightlyPrice: null, minStay: null } },
          seasons.at(-1),
        )
      }
    >
      Add season
    </Button>
  )
  const remove = (season: SeasonDraft) => {
    const index = seasons.indexOf(season)
    change({ seasons: seasons.toSpliced(index, 1) })
    toast({
      text: `${season.name.trim() === '' ? 'The season' : season.name} is removed from the draft`,
      undo: () => change((now) => ({ seasons: now.seasons.toSpliced(index, 0, season) })),
    })
  }
  return (
    <Card title="Seasons" aside={add} isFlush>
      {seasons.length === 0 && (
        <EmptyState icon="calendar" title="No seasons yet">
          {mayChange
            ? 'Every night costs the base price. Add a season for the weeks that cost more, or less.'
            : 'Every night costs the base price.'}
        </EmptyState>
      )}
      {past.length > 0 && (
        <button type="button" class="rates-past" aria-expanded={showsPast} onClick={() => setShowsPast(!showsPast)}>
          {showsPast ? 'Hide' : 'Show'} {plural(past.length, 'past season')}
        </button>
      )}
      <ul class="rates-seasons">
        {shown.map((season) => (
          <SeasonRow
            key={season.key}
            season={season}
            base={base}
            errors={editing.errors}
            isOpen={season.key === open}
            mayChange={mayChange}
            onToggle={() => setOpen(season.key === open ? null : season.key)}
            onChange={(part) =>
              change({ seasons: seasons.map((other) => (other === season ? { ...other, ...part } : other)) })
            }
            onCopy={() => insert(nextYear(season), season)}
            onRemove={() => remove(season)}
          />
        ))}
      </ul>
    </Card>
  )
}
