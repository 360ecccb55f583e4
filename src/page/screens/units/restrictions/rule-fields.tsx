import { FieldSet, NumberInput, Select } from '../../../design/inputs.tsx'
import { Segments } from '../../../design/segments.tsx'
import { weekdayText } from '../../../format/days.ts'
import { DATE_RULES, RULES } from '../../../stays/restrictions.ts'
import { EVERY_DAY, type RowDraft, withRule } from './restrictions-draft.ts'

type Rule = Pick<RowDraft, 'rule' | 'value' | 'weekdays'>

const OPTIONS = DATE_RULES.map((rule) => ({ value: rule, label: RULES[rule].label }))

/** The rule of a row, its value and its days of the week. */
export function RuleFields<R extends Rule>({
  row,
  errorOf,
  onChange,
}: {
  row: R
  errorOf: (field: keyof Rule) => string | undefined
  onChange: (row: R) => void
}) {
  const { label, off } = RULES[row.rule]
  return (
    <>
      <div class="restriction-rule">
        <Select label="Rule" value={row.rule} options={OPTIONS} onChange={(rule) => onChange(withRule(row, rule))} />
        {off === null ? (
          <NumberInput
            label="Length"
            suffix="nights"
            min={1}
            value={typeof row.value === 'number' ? row.value : null}
            error={errorOf('value')}
            onChange={(value) => onChange({ ...row, value })}
          />
        ) : (
          <Segments
            label="Effect"
            value={row.value === false ? 'off' : 'on'}
            options={[
              { value: 'on', label },
              { value: 'off', label: off },
            ]}
            onChange={(effect) => onChange({ ...row, value: effect === 'on' })}
          />
        )}
      </div>
      <FieldSet legend="Days of the week">
        <div class="segments restriction-weekdays">
          {EVERY_DAY.map((weekday) => (
            <label key={weekday} class="segment">
              <input
                type="checkbox"
                class="visually-hidden"
                checked={row.weekdays.includes(weekday)}
                onChange={({ currentTarget: { checked } }) =>
                  onChange({
                    ...row,
                    weekdays: checked
                      ? [...row.weekdays, weekday].sort()
                      : row.weekdays.filter((other) => other !== weekday),
                  })
                }
              />
              <span>{weekdayText(weekday)}</span>
            </label>
          ))}
        </div>
        {errorOf('weekdays') !== undefined && <p class="field-error">{errorOf('weekdays')}</p>}
      </FieldSet>
    </>
  )
}
