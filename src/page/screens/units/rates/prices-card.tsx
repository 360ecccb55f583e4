import { useSession } from '../../../data/use-session.ts'
import { Card } from '../../../design/card.tsx'
import { MoneyInput, NumberInput } from '../../../design/inputs.tsx'
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
        <MoneyInput label="Base price per night" hint="Outside seasons" {...field('basePrice')} {...currency} />
        <NumberInput
          label="Minimum stay"
          hint="Seasons can override it"
          suffix="nights"
          min={1}
          {...field('minStay')}
        />
        <MoneyInput label="Cleaning" hint="Once per stay" {...field('cleaningFee')} {...currency} />
        <NumberInput
          label="Turnover"
          hint="Kept free after each guest or owner stay"
          suffix="nights"
          min={0}
          {...field('turnoverNights')}
        />
        <MoneyInput
          label="Extra bed per night"
          hint="On request, for stays with children"
          {...field('extraBedFee')}
          {...currency}
        />
      </div>
    </Card>
  )
}
