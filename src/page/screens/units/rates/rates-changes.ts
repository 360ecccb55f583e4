/** What differs between two states of a unit's rates, in words. Pure. */
import { dayOf, dayRange, weekdayText } from '../../../format/days.ts'
import { type Currency, money, plural } from '../../../format/numbers.ts'
import type { PriceField, Prices, Rates } from './rates-draft.ts'

type Season = Rates['seasons'][number]

interface Priced {
  readonly rates: Rates
  readonly prices: Partial<Prices>
}

const NAMES: Readonly<Record<PriceField, string>> = {
  basePrice: 'Base price',
  minStay: 'Minimum stay',
  cleaningFee: 'Cleaning',
  extraBedFee: 'Extra bed',
  turnoverNights: 'Nights kept free after a stay',
}

export function ratesChanges(before: Priced, after: Priced, currency: Currency): string[] {
  return [
    ...priceChanges(before.prices, after.prices, currency),
    ...seasonChanges(before.rates.seasons, after.rates.seasons, currency),
    ...weekdayChanges(before.rates, after.rates),
    ...discountChanges(before.rates, after.rates),
  ]
}

function priceChanges(before: Partial<Prices>, after: Partial<Prices>, currency: Currency): string[] {
  const shown = (field: PriceField, value: number) =>
    field === 'minStay' || field === 'turnoverNights' ? plural(value, 'night') : money(value, currency)
  return (Object.keys(NAMES) as PriceField[]).flatMap((field) => {
    const [from, to] = [before[field], after[field]]
    if (from === undefined || to === undefined || from === to) return []
    return [`${NAMES[field]}: ${shown(field, from)} → ${shown(field, to)}`]
  })
}

function seasonChanges(before: readonly Season[], after: readonly Season[], currency: Currency): string[] {
  const left = new Set(before)
  const pairs: [Season | undefined, Season][] = after.map((season) => [undefined, season])
  const likenesses: ((a: Season, b: Season) => boolean)[] = [
    (a, b) => a.from === b.from && a.name === b.name,
    (a, b) => a.from === b.from,
    (a, b) => a.name === b.name && a.from.slice(0, 4) === b.from.slice(0, 4),
  ]
  for (const isAlike of likenesses) {
    for (const pair of pairs) {
      if (pair[0] !== undefined) continue
      pair[0] = [...left].find((season) => isAlike(season, pair[1]))
      if (pair[0] !== undefined) left.delete(pair[0])
    }
  }
  const title = ({ name, from }: Season) => `${name} ${from.slice(0, 4)}`
  return [
    ...pairs.flatMap(([from, to]) =>
      from === undefined ? [`${title(to)}: new`] : changesOf(from, to, title(to), currency),
    ),
    ...[...left].map((season) => `${title(season)}: removed`),
  ]
}

function changesOf(before: Season, after: Season, title: string, currency: Currency): string[] {
  const nights = ({ from, to }: Season) => dayRange(dayOf(from), dayOf(to) - 1)
  const minStay = ({ minStay: value }: Season) => (value === null ? 'as outside seasons' : plural(value, 'night'))
  const changes: string[] = []
  if (before.name !== after.name) changes.push(`name ${before.name} → ${after.name}`)
  if (before.from !== after.from || before.to !== after.to) changes.push(`${nights(before)} → ${nights(after)}`)
  if (before.nightlyPrice !== after.nightlyPrice)
    changes.push(`${money(before.nightlyPrice, currency)} → ${money(after.nightlyPrice, currency)}`)
  if (before.minStay !== after.minStay) changes.push(`minimum stay ${minStay(before)} → ${minStay(after)}`)
  return changes.length === 0 ? [] : [`${title}: ${changes.join('; ')}`]
}

function weekdayChanges(before: Rates, after: Rates): string[] {
  const pctOf = ({ weekdayAdjustments }: Rates, day: number) =>
    weekdayAdjustments.find(({ weekday }) => weekday === day)?.pct ?? 0
  return [1, 2, 3, 4, 5, 6, 7].flatMap((day) => {
    const [from, to] = [pctOf(before, day), pctOf(after, day)]
    return from === to ? [] : [`${weekdayText(day)}: ${signed(from)} → ${signed(to)}`]
  })
}

function discountChanges(before: Rates, after: Rates): string[] {
  const pctOf = ({ lengthOfStayDiscounts }: Rates, nights: number) =>
    lengthOfStayDiscounts.find(({ minNights }) => minNights === nights)?.pct
  const lengths = [...before.lengthOfStayDiscounts, ...after.lengthOfStayDiscounts].map(({ minNights }) => minNights)
  return [...new Set(lengths)]
    .sort((a, b) => a - b)
    .flatMap((nights) => {
      const [from, to] = [pctOf(before, nights), pctOf(after, nights)]
      const shown = (pct: number | undefined) => (pct === undefined ? 'no discount' : `${pct}% off`)
      return from === to ? [] : [`From ${plural(nights, 'night')}: ${shown(from)} → ${shown(to)}`]
    })
}

/** `+15%`, `−10%`, `0%`. */
function signed(pct: number): string {
  return `${pct > 0 ? '+' : pct < 0 ? '−' : ''}${Math.abs(pct)}%`
}
