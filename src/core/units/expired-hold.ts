/** A hold that has expired. */
export interface ExpiredHold {
  readonly agencyId: string
  readonly unitId: string
  readonly bookingId: string
  /**
   * When it expired, with the full precision of the store. Together with the id it is the position in the store's
   * order.
   */
  readonly expiry: string
}
