import { useState } from 'preact/hooks'
import { Button, IconButton } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { NumberInput } from '../../../design/inputs.tsx'
import { type DiscountDraft, discountField, newKey, type RatesErrors } from './rates-draft.ts'
import type { RatesEditing } from './use-rates.ts'

/** What long stays pay less. */
export function DiscountsCard({
  editing: { draft, errors, change },
  mayChange,
}: {
  editing: RatesEditing
  mayChange: boolean
}) {
  const { discounts } = draft
  const set = (key: number, part: Partial<DiscountDraft>) =>
    change({ discounts: discounts.map((discount) => (discount.key === key ? { ...discount, ...part } : discount)) })
  const add = mayChange && (
    <Button
      size="s"
      icon="plus"
      onClick={() => change({ discounts: [...discounts, { key: newKey(), minNights: null, pct: null }] })}
    >
      Add discount
    </Button>
  )
  return (
    <Card title="Long stays" aside={add}>
      <div class="form">
        <p class="units-text">
          {discounts.length === 0
            ? 'No discounts yet. Add one for stays of a week or a month.'
            : 'Taken off all nights of the stay, but not off cleaning and fees. If several apply, the one for the longest stay is used.'}
        </p>
        {discounts.length > 0 && (
          <ul class="rates-discounts">
            {discounts.map((discount) => (
              <DiscountRow
                key={discount.key}
                discount={discount}
                errors={errors}
                onChange={(part) => set(discount.key, part)}
                onRemove={
                  mayChange
                    ? () => change({ discounts: discounts.filter(({ key }) => key !== discount.key) })
                    : undefined
                }
              />
            ))}
          </ul>
        )}
      </div>
    </Card>
  )
}

function DiscountRow({
  discount: { key, minNights, pct },
  errors,
  onChange,
  onRemove,
}: {
  discount: DiscountDraft
  errors: RatesErrors
  onChange: (part: Partial<DiscountDraft>) => void
  onRemove: (() => void) | undefined
}) {
  // A new discount is not full of errors before anything has been typed.
  const [isVisited, setVisited] = useState(minNights !== null)
  const errorOf = (field: 'minNights' | 'pct', value: number | null) =>
    value === null && !isVisited ? undefined : errors.get(discountField(key, field))
  return (
    <li class="rates-discount">
      <NumberInput
        label="From"
        suffix="nights"
        min={1}
        value={minNights}
        onChange={(value) => onChange({ minNights: value })}
        error={errorOf('minNights', minNights)}
      />
      <NumberInput
        label="Discount"
        suffix="% off"
        min={0}
        max={100}
        value={pct}
        onChange={(value) => onChange({ pct: value })}
        onBlur={() => setVisited(true)}
        error={errorOf('pct', pct)}
      />
      {onRemove !== undefined && (
        <IconButton
          icon="close"
          label={minNights === null ? 'Remove discount' : `Remove the discount from ${minNights} nights`}
          onClick={onRemove}
        />
      )}
    </li>
  )
}
