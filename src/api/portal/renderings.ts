import { ListReadError } from '../../core/bookings/booking-lists.ts'
import type { Clock } from '../../lib/clock.ts'
import { FairShares, NoPlaceError } from '../../lib/queues.ts'

/** Large answers that are put together at once, all agencies together. */
export const RENDERINGS_MAX = 4
/** Those of one agency. */
export const RENDERINGS_PER_AGENCY_MAX = 2
/** Those of one agency that wait for a place. */
const WAITING_PER_AGENCY_MAX = 32
const WAIT_MS_MAX = 5_000

/**
 * Large answers of the portal: the tape, and pages of many changes. Each is written in slices, between which others are answered, so
 * what bounds their share of the event loop is how many of one agency are written at once.
 */
export class Renderings {
  readonly #shares: FairShares

  constructor(clock: Clock) {
    this.#shares = new FairShares({
      runningMax: RENDERINGS_MAX,
      shareMax: RENDERINGS_PER_AGENCY_MAX,
      clock,
      waitingPerOwnerMax: WAITING_PER_AGENCY_MAX,
      waitMsMax: WAIT_MS_MAX,
    })
  }

  /**
   * Runs `render` when it is the agency's turn.
   * @throws ListReadError when its share is in use
   */
  async run<T>(agencyId: string, render: () => Promise<T>): Promise<T> {
    try {
      return await this.#shares.run(agencyId, render)
    } catch (error) {
      if (!(error instanceof NoPlaceError)) throw error
      throw new ListReadError('busy', "Cannot write a large answer: the agency's share is in use", { cause: error })
    }
  }
}
