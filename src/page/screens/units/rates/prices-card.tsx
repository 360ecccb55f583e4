import { Card } from '../../../design/card.tsx'
import { MoneyInput, NumberInput } from '../../../design/inputs.tsx'
import { useSession } from '../../../session/use-session.ts'
import type { PriceField } from './rates-draft.ts'
import type { RatesEditing } from './use-rates.ts'

/** What counts wherever no season says otherwise. */
export function PricesCard({ editing: { draft, errors, change } }: { editing: RatesEditing }) {
  const { currency } = useSession()
  const field = (name: PriceField) => ({
    value: draft.prices[name],
    onChange: (value: number | null) => change({ prices: { ...draft.prices, [name]: value } }),
    error: errors.get(name),
  })
  return (
    <Card title="Base prices">
      <div class="rates-pairs">
        <MoneyInput label="Base price per night" hint="Outside of seasons" {...field('basePrice')} {...currency} />
        <NumberInput
          label="Minimum stay"
          hint="Seasons can ask for another"
          suffix="nights"
          min={1}
          {...field('minStay')}
        />
        <MoneyInput label="Cleaning" hint="Once per stay" {...field('cleaningFee')} {...currency} />
        <NumberInput
          label="Kept free for cleaning"
          hint="After each guest or owner stay"
          suffix="nights"
          min={0}
          {...field('turnoverNights')}
        />
        <MoneyInput
          label="Extra bed per night"
          hint="If asked for with children"
          {...field('extraBedFee')}
          {...currency}
        />
      </div>
    </Card>
  )
}
