import { assert } from '../../lib/assert.ts'
import { type Clock, sleep } from '../../lib/clock.ts'

/** Pause between two claims, so that wakes close together share one claim. */
const CLAIM_GAP_MS = 4
/** Polls even without a wake, as a safety net under wakes and the timer for the next due delivery. */
export const POLL_MS = 2_000
export const AFTER_FAILURE_MS = 250

interface ClaimRoundOptions {
  readonly clock: Clock
  /** @returns milliseconds until the next claim, unless a wake comes first */
  claim(): Promise<number>
  isRunning(): boolean
  onFailure(error: unknown): void
  /** A claim has ended after the sender was stopped. */
  onStopped(): void
}

/** When to claim: after a wake, when the next delivery is due, and now and then; one claim at a time. */
export class ClaimRounds {
  readonly #options: ClaimRoundOptions
  #isClaiming = false
  #isWanted = false
  #cancelTimer = () => {}

  constructor(options: ClaimRoundOptions) {
    this.#options = options
  }

  get isClaiming(): boolean {
    return this.#isClaiming
  }

  /** Something may be due. Cheap: can be called at any rate. */
  wake(): void {
    this.#isWanted = true
    if (this.#options.isRunning() && !this.#isClaiming) void this.#run()
  }

  /** There is more than one claim takes. */
  again(): void {
    this.#isWanted = true
  }

  async #run(): Promise<void> {
    const { clock, claim, isRunning, onFailure, onStopped } = this.#options
    assert(!this.#isClaiming, 'Cannot claim: a claim is in flight')
    this.#isClaiming = true
    this.#cancelTimer()
    let waitMs: number | null = AFTER_FAILURE_MS
    try {
      while (this.#isWanted && isRunning()) {
        this.#isWanted = false
        const since = clock.monotonicMs()
        waitMs = await claim()
        // Pause for as long as the claim took, to leave the database time for other work.
        await sleep(clock, Math.max(CLAIM_GAP_MS, clock.monotonicMs() - since))
      }
    } catch (error) {
      onFailure(error)
    }
    this.#isClaiming = false
    if (isRunning()) this.#cancelTimer = clock.after(waitMs ?? POLL_MS, () => this.wake())
    else onStopped()
  }
}
