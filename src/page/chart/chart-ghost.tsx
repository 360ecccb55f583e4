import type { Ghost } from './gesture.ts'
import { noonX, type Scale } from './scale.ts'

interface ChartGhostProps {
  readonly ghost: Ghost
  readonly scale: Scale
  readonly unitWidth: number
  readonly text: string
  readonly isRefused: boolean
}

/** Where a stay would be, with its dates. */
export function ChartGhost({ ghost, scale, unitWidth, text, isRefused }: ChartGhostProps) {
  const left = unitWidth + noonX(scale, ghost.arrival)
  const width = (ghost.departure - ghost.arrival) * scale.dayWidth
  return (
    <div
      class={isRefused ? 'chart-ghost is-refused' : 'chart-ghost'}
      aria-hidden="true"
      style={{ transform: `translate(${left}px, ${ghost.row * scale.rowHeight}px)`, width: `${width}px` }}
    >
      <span class="chart-ghost-text">{text}</span>
    </div>
  )
}
