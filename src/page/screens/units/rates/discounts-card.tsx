import { Button, IconButton } from '../../../design/button.tsx'
import { Card } from '../../../design/card.tsx'
import { NumberInput } from '../../../design/inputs.tsx'
import { type DiscountDraft, newKey } from './rates-draft.ts'
import { discountField } from './rates-errors.ts'
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
            {discounts.map(({ key, minNights, pct }) => (
              <li key={key} class="rates-discount">
                <NumberInput
                  label="From"
                  suffix="nights"
                  min={1}
                  value={minNights}
                  onChange={(value) => set(key, { minNights: value })}
                  error={errors.get(discountField(key, 'minNights'))}
                />
                <NumberInput
                  label="Discount"
                  suffix="% off"
                  min={0}
                  max={100}
                  value={pct}
                  onChange={(value) => set(key, { pct: value })}
                  error={errors.get(discountField(key, 'pct'))}
                />
                {mayChange && (
                  <IconButton
                    icon="close"
                    label={minNights === null ? 'Remove discount' : `Remove the discount from ${minNights} nights`}
                    onClick={() => change({ discounts: discounts.filter((discount) => discount.key !== key) })}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Card>
  )
}
