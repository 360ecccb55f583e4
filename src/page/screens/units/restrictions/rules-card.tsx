import { useState } from 'preact/hooks'
import { Badge } from '../../../design/badge.tsx'
import { Button } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { EmptyState } from '../../../design/feedback.tsx'
import { DateInput, FieldRow } from '../../../design/inputs.tsx'
import { toast } from '../../../design/toast.tsx'
import { FoldRow } from '../editing/fold-row.tsx'
import { isSavedRow, newRow, type RowDraft, rowDates, rowField, rowTitle } from './restrictions-draft.ts'
import { RuleFields } from './rule-fields.tsx'
import type { RestrictionsEditing } from './use-restrictions.ts'

const FIELDS = ['from', 'last', 'weekdays', 'value'] as const

/** The rows in order: a later one wins. */
export function RulesCard({ editing, mayChange }: { editing: RestrictionsEditing; mayChange: boolean }) {
  const { draft, base, errors, change } = editing
  const { rows } = draft
  const [open, setOpen] = useState<number | null>(null)
  const add = () => {
    const row = newRow({})
    change({ rows: [...rows, row] })
    setOpen(row.key)
  }
  const move = (index: number, step: -1 | 1) => {
    const row = rows[index]
    if (row !== undefined) change({ rows: rows.toSpliced(index, 1).toSpliced(index + step, 0, row) })
  }
  const remove = (index: number, row: RowDraft) => {
    change({ rows: rows.toSpliced(index, 1) })
    toast({
      text: `Removed from the draft: ${rowTitle(row)}`,
      undo: () => change((now) => ({ rows: now.rows.toSpliced(index, 0, row) })),
    })
  }
  return (
    <Card
      title="Rules"
      isFlush
      aside={
        mayChange && (
          <Button size="s" icon="plus" onClick={add}>
            Add rule
          </Button>
        )
      }
    >
      {rows.length === 0 ? (
        <EmptyState icon="calendar" title="No rules yet">
          {mayChange
            ? 'Every free night is for sale. Drag over days in the calendar to set a rule.'
            : 'Every free night is for sale.'}
        </EmptyState>
      ) : (
        <p class="restriction-order">If two lines set the same rule for a day, the lower one wins.</p>
      )}
      {errors.has('rows') && <p class="restriction-order field-error">{errors.get('rows')}</p>}
      <ol>
        {rows.map((row, index) => {
          const isWrong = FIELDS.some((field) => errors.has(rowField(row.key, field)))
          const name = rowTitle(row)
          const button = (label: string, icon: 'up' | 'down' | 'close', isDisabled: boolean, onClick: () => void) => (
            <Button
              tone="quiet"
              size="s"
              icon={icon}
              aria-label={`${label}: ${name}`}
              disabled={isDisabled}
              onClick={onClick}
            >
              {label}
            </Button>
          )
          return (
            <FoldRow
              key={row.key}
              name={
                <>
                  {name}{' '}
                  {isWrong ? (
                    <Badge tone="bad">Check</Badge>
                  ) : (
                    !isSavedRow(row, base) && <Badge tone="accent">Not saved</Badge>
                  )}
                </>
              }
              detail={rowDates(row)}
              isOpen={row.key === open}
              mayOpen={mayChange}
              onToggle={() => setOpen(row.key === open ? null : row.key)}
              actions={
                <>
                  {button('Move up', 'up', index === 0, () => move(index, -1))}
                  {button('Move down', 'down', index === rows.length - 1, () => move(index, 1))}
                  {button('Remove', 'close', false, () => remove(index, row))}
                </>
              }
            >
              <RowFields
                row={row}
                errors={errors}
                onChange={(next) => change({ rows: rows.map((other) => (other === row ? next : other)) })}
              />
            </FoldRow>
          )
        })}
      </ol>
    </Card>
  )
}

function RowFields({
  row,
  errors,
  onChange,
}: {
  row: RowDraft
  errors: ReadonlyMap<string, string>
  onChange: (row: RowDraft) => void
}) {
  const errorOf = (field: keyof RowDraft) => errors.get(rowField(row.key, field))
  return (
    <>
      <FieldRow>
        <DateInput
          label="First day"
          isOptional
          value={row.from}
          error={errorOf('from')}
          onChange={(from) => onChange({ ...row, from })}
        />
        <DateInput
          label="Last day"
          isOptional
          value={row.last}
          {...(row.from === '' ? {} : { min: row.from })}
          error={errorOf('last')}
          onChange={(last) => onChange({ ...row, last })}
        />
      </FieldRow>
      <RuleFields row={row} errorOf={errorOf} onChange={onChange} />
    </>
  )
}
