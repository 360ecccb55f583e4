import { useSession } from '../data/use-session.ts'
import { Radio } from '../design/choices.tsx'
import { FieldSet } from '../design/inputs.tsx'
import { money } from '../format/numbers.ts'
import type { Pricing } from './booking-writes.ts'

/** Whether the price follows a change of the stay. Draws nothing when it is the same either way. */
export function PriceChoice({
  before,
  after,
  pricing,
  onChoose,
}: {
  /** Minor units: as agreed. */
  before: number
  /** At the rates of now. */
  after: number
  pricing: Pricing
  onChoose: (pricing: Pricing) => void
}) {
  const { currency } = useSession()
  if (after === before) return null
  const difference = `${money(Math.abs(after - before), currency)} ${after > before ? 'more' : 'less'} than now`
  return (
    <FieldSet legend="Price">
      <Radio
        group="pricing"
        isChosen={pricing === 'reprice'}
        onChoose={() => onChoose('reprice')}
        label={<span class="numeric">New price: {money(after, currency)}</span>}
        hint={`At today’s rates and fees, ${difference}`}
      />
      <Radio
        group="pricing"
        isChosen={pricing === 'keep'}
        onChoose={() => onChoose('keep')}
        label={<span class="numeric">Keep the price: {money(before, currency)}</span>}
        hint="As agreed with the guest"
      />
    </FieldSet>
  )
}
