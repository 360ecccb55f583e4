/**
 * Long work in slices, so that the event loop answers others in between. Work is counted in steps and not timed: a count is the same on
 * every machine, and a test can check it. What a step takes is measured in `bench/`.
 */

/** Those whose next slice has not started, in the order in which they get a turn. */
const waiting: (() => void)[] = []

/**
 * Settles in a later turn of the event loop, after whatever has arrived meanwhile. One of those who wait continues in each turn, so that
 * others wait for one slice and not for one of each long work that is in progress.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(next)
  })
}

function next(): void {
  const resolve = waiting.shift()
  if (waiting.length > 0) setImmediate(next)
  resolve?.()
}

/** Whether some long work waits for its next turn. A simulated clock stands still meanwhile: a turn takes no time to speak of. */
export function isTurnAwaited(): boolean {
  return waiting.length > 0
}

export class Slices {
  readonly #stepsMax: number
  readonly #pause: () => Promise<void>
  #steps = 0

  /** @param stepsMax steps of one slice; the last piece of work in it may exceed them */
  constructor(stepsMax: number, pause: () => Promise<void> = nextTurn) {
    this.#stepsMax = stepsMax
    this.#pause = pause
  }

  /** Call it after each piece of work. Null: the slice continues. Otherwise wait before the next piece. */
  spend(steps: number): Promise<void> | null {
    this.#steps += steps
    if (this.#steps < this.#stepsMax) return null
    this.#steps = 0
    return this.#pause()
  }
}
