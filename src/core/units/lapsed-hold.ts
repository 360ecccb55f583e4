/** A hold whose lifetime has elapsed. */
export interface LapsedHold {
  readonly agencyId: string
  readonly unitId: string
  readonly bookingId: string
  /** When it lapsed, as exactly as the store keeps it: with the id, its place in the store's order. */
  readonly expiry: string
}
