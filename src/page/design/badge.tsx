import './badge.css'
import type { ComponentChildren } from 'preact'
import { type BadgeTone, STATUS_LOOKS, type Status, type StayType, TYPE_LOOKS } from './status-looks.ts'

/** A word about something. */
export function Badge({ tone = 'neutral', children }: { tone?: BadgeTone; children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>
}

/** Where a booking stands: a shape and a word. A block or an owner stay shows what it is instead. */
export function StatusBadge({ status, type = 'guest' }: { status: Status; type?: StayType }) {
  const look = type === 'guest' || status === 'cancelled' ? STATUS_LOOKS[status] : TYPE_LOOKS[type]
  return (
    <span class={`badge badge-${look.tone}`}>
      <svg class="badge-shape" width="9" height="9" viewBox="0 0 10 10" aria-hidden="true">
        <path class={look.isHollow ? 'shape-hollow' : 'shape-filled'} d={look.shape} />
      </svg>
      {look.label}
    </span>
  )
}
