import { timeLeft } from '../../format/instants.ts'
import { count, percent } from '../../format/numbers.ts'
import type { DaySheet } from './day-sheet.ts'

/** The figures of today. */
export function Tiles({ sheet: { arrivals, departures, inHouse, holds, units } }: { sheet: DaySheet }) {
  const tiles = [
    ['Arrivals today', count(arrivals.length), guestsText(arrivals)],
    ['Departures today', count(departures.length), guestsText(departures)],
    ['In house tonight', count(inHouse.length), guestsText(inHouse)],
    ['Occupancy tonight', percent(inHouse.length / units), `${count(inHouse.length)} of ${count(units)} units`],
    ['Holds', count(holds.length), holdsText(holds)],
  ] as const
  return (
    <dl class="tiles">
      {tiles.map(([name, figure, detail]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd class="tile-figure numeric">{figure}</dd>
          <dd class="tile-detail">{detail}</dd>
        </div>
      ))}
    </dl>
  )
}

function guestsText(stays: readonly { guests: number }[]): string {
  const people = stays.reduce((sum, { guests }) => sum + guests, 0)
  if (people === 0) return 'no guests'
  return people === 1 ? '1 guest' : `${count(people)} guests`
}

function holdsText([next]: DaySheet['holds']): string {
  return next === undefined ? 'none open' : `next expires in ${timeLeft(next.holdExpiresAt ?? 0)}`
}
