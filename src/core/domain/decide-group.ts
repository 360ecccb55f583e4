/** Decides several stays that are booked together or not at all (docs/partner-additions.md#11-several-stays-at-once). Pure (U3). */
import type { BookingCreated } from './booking.ts'
import { type BookStay, decideBookStay } from './decide.ts'
import type { Rejection, Restrained } from './night-guard.ts'
import type { UnitState } from './unit-state.ts'

/** A stay, and the unit that it is in. Null: there is no such unit. */
export type GroupStay = { readonly state: UnitState; readonly command: BookStay } | null

/** Why a stay of a group is refused. `stay`: its index. `rejection`: null if its unit does not exist. */
export interface StayRefusal {
  readonly stay: number
  readonly rejection: Rejection | null
}

/** An accepted stay of a group, and the warnings for the agency. */
interface AcceptedStay {
  readonly event: BookingCreated
  readonly warnings: Restrained | null
}

export type GroupDecision =
  | { readonly kind: 'accepted'; readonly stays: readonly AcceptedStay[] }
  /** All refused stays, in order; at least one. */
  | { readonly kind: 'refused'; readonly refusals: readonly StayRefusal[] }

/**
 * Each stay is decided like a single booking, as if every stay before it were booked, even a refused one. The states are not changed: if a
 * unit has several stays of the group, the earlier ones are added to a copy.
 */
export function decideGroup(stays: readonly GroupStay[]): GroupDecision {
  const copies = new Map<string, UnitState>()
  const accepted: AcceptedStay[] = []
  const refusals: StayRefusal[] = []
  for (const [i, stay] of stays.entries()) {
    if (stay === null) {
      refusals.push({ stay: i, rejection: null })
      continue
    }
    const { state, command } = stay
    const { unitId } = state
    const decision = decideBookStay(copies.get(unitId) ?? state, command)
    if (decision.kind === 'rejected') refusals.push({ stay: i, rejection: decision.rejection })
    if (decision.kind === 'accepted') accepted.push({ event: decision.event, warnings: decision.warnings ?? null })
    if (!stays.slice(i + 1).some((later) => later?.state.unitId === unitId)) continue
    const copy = copies.get(unitId) ?? state.copy()
    copy.addStay(command.booking)
    copies.set(unitId, copy)
  }
  return refusals.length > 0 ? { kind: 'refused', refusals } : { kind: 'accepted', stays: accepted }
}
