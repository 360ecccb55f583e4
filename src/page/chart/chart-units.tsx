import { bedroomsText } from './labels.ts'
import { Memo } from './memo.ts'
import type { ChartUnit } from './stay.ts'

interface ChartUnitsProps {
  readonly units: readonly ChartUnit[]
  readonly rowFrom: number
  readonly rowTo: number
  readonly rowHeight: number
}

/**
 * The column of units, for the eye: the rows say the same to assistive technology. One sticky element: a sticky cell in each row
 * would be a layer each.
 */
export class ChartUnits extends Memo<ChartUnitsProps> {
  override render({ units, rowFrom, rowTo, rowHeight }: ChartUnitsProps) {
    return (
      <div class="chart-units" aria-hidden="true">
        {units.slice(rowFrom, rowTo).map(({ slug, name, bedrooms, area, isArchived }, i) => (
          <div
            key={slug}
            class={isArchived ? 'chart-unit is-archived' : 'chart-unit'}
            title={name}
            style={{ top: `${(rowFrom + i) * rowHeight}px` }}
          >
            <span class="chart-unit-name">{name}</span>
            <span class="chart-unit-more">
              {bedroomsText(bedrooms)}
              {area !== null && ` · ${area}`}
            </span>
          </div>
        ))}
      </div>
    )
  }
}
