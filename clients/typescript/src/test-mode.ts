import { type CallOptions, Resource, type Transport } from './transport.ts'

/** The time of the sandbox. It stands still unless it is moved. */
export interface TestClock {
  /** ISO 8601. */
  now: string
  /** `advancing`: what falls due until `now` is still happening. */
  status: 'advancing' | 'ready'
}

/** Added up. */
export interface Duration {
  readonly days?: number
  readonly hours?: number
  readonly seconds?: number
}

export type TestEventKind = 'duplicate' | 'reorder' | 'late' | 'bad_signature' | 'old_timestamp'

const PAUSE_MS = 250
const PAUSE_MS_MAX = 4_000
const DAY_S = 86_400

/** For keys of a sandbox, `hr_test_…`: a live key gets `FeatureDisabledError`. */
export class TestMode {
  declare readonly clock: SandboxClock
  declare readonly events: SandboxEvents

  constructor(http: Transport) {
    this.clock = new SandboxClock(http)
    this.events = new SandboxEvents(http)
  }
}

class SandboxClock extends Resource {
  get(options?: CallOptions): Promise<TestClock> {
    return this.http.get(['test', 'clock'], options)
  }

  /** Moves the clock forward, and waits until everything that falls due has happened. At most 800 days. */
  advance({ days = 0, hours = 0, seconds = 0 }: Duration, options?: CallOptions): Promise<TestClock> {
    return this.#move({ advanceSeconds: days * DAY_S + hours * 3_600 + seconds }, options)
  }

  /** @param now ISO 8601, not before the clock's time */
  set(now: string, options?: CallOptions): Promise<TestClock> {
    return this.#move({ now }, options)
  }

  async #move(body: object, options: CallOptions = {}): Promise<TestClock> {
    const { clock } = this.http
    const endsAt = clock.now() + (options.deadlineMs ?? 120_000)
    let moved = await this.http.post<TestClock>(['test', 'clock'], body, options)
    for (let pauseMs = PAUSE_MS; moved.status !== 'ready' && clock.now() < endsAt; pauseMs *= 2) {
      await clock.sleep(Math.min(pauseMs, PAUSE_MS_MAX), options.signal)
      moved = await this.get(options)
    }
    return moved
  }
}

class SandboxEvents extends Resource {
  /** Sends the last event of a booking to the sandbox's endpoints again, in a way that a receiver must bear or refuse. */
  async send(
    event: { readonly bookingId: string; readonly kind: TestEventKind },
    options?: CallOptions,
  ): Promise<void> {
    await this.http.post(['test', 'events'], event, options, 'once')
  }
}
