/** How statuses and types of stays look: the same shape, tone and word on every screen. */
import type { Schema } from '../api/schema.ts'

export type Status = Schema<'Booking'>['status']
export type StayType = Schema<'Booking'>['type']

export type BadgeTone = 'neutral' | 'good' | 'warn' | 'bad' | 'info' | 'accent'

interface Look {
  readonly label: string
  readonly tone: BadgeTone
  /** A path in a box of 10 × 10. */
  readonly shape: string
  readonly isHollow: boolean
}

const CIRCLE = 'M5 1.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6z'
const DIAMOND = 'M5 .6 9.4 5 5 9.4.6 5z'
const SQUARE = 'M1.5 1.5h7v7h-7z'
const TRIANGLE = 'M5 1 9.4 9H.6z'
const CROSS = 'M2 2l6 6M8 2 2 8'
const TICK = 'M1.5 5.2 4 7.8 8.5 2.4'

export const STATUS_LOOKS: Readonly<Record<Status, Look>> = {
  draft: { label: 'Draft', tone: 'neutral', shape: CIRCLE, isHollow: true },
  option: { label: 'Hold', tone: 'warn', shape: DIAMOND, isHollow: true },
  confirmed: { label: 'Confirmed', tone: 'info', shape: CIRCLE, isHollow: false },
  checked_in: { label: 'In house', tone: 'good', shape: SQUARE, isHollow: false },
  checked_out: { label: 'Checked out', tone: 'neutral', shape: TICK, isHollow: true },
  cancelled: { label: 'Cancelled', tone: 'bad', shape: CROSS, isHollow: true },
}

export const TYPE_LOOKS: Readonly<Record<StayType, Look>> = {
  guest: { label: 'Guest', tone: 'info', shape: CIRCLE, isHollow: false },
  owner_stay: { label: 'Owner stay', tone: 'accent', shape: TRIANGLE, isHollow: false },
  maintenance: { label: 'Maintenance', tone: 'neutral', shape: SQUARE, isHollow: true },
  block: { label: 'Block', tone: 'neutral', shape: SQUARE, isHollow: false },
}
