import type { Clock } from '../lib/clock.ts'
import { childEnvironment } from '../lib/process-run.ts'
import { type Verification, VerificationError } from './findings.ts'
import { UNITS_PER_PAGE } from './verify.ts'
import type { LiveUnit } from './verify-unit.ts'

/** The argument that makes main.ts run the verification process. */
export const RUN_VERIFICATION = 'run-verification'

/** Everything the verification process needs: its environment and arguments contain no secrets. */
export interface VerifierSettings {
  readonly databaseUrl: string
  /** 64 hexadecimal digits; opens the keys of the chains. */
  readonly secretKeyHex: string
}

/** Messages from the service to the verification process. */
export type ToVerifier =
  | { readonly kind: 'start'; readonly settings: VerifierSettings }
  /** The resident units among those of the last `ask_live`. */
  | { readonly kind: 'live'; readonly units: readonly ResidentUnit[] }

/** Messages from the verification process to the service. */
export type FromVerifier =
  /** The process is listening; `start` may be sent. */
  | { readonly kind: 'up' }
  /** Answered with `live`. At most `UNITS_PER_PAGE` ids. */
  | { readonly kind: 'ask_live'; readonly unitIds: readonly string[] }
  | { readonly kind: 'done'; readonly verification: Verification }
  /** `broken`: a bug in this program. */
  | { readonly kind: 'failed' | 'broken'; readonly message: string }

/** A verification that takes longer than this is stopped. */
export const VERIFICATION_MS_MAX = 600_000

export type ResidentUnit = readonly [unitId: string, unit: LiveUnit]

/** Those of the units that are resident: in this process, or in any worker. At most `UNITS_PER_PAGE` ids. */
export type ResidentUnits = (unitIds: readonly string[]) => Promise<readonly ResidentUnit[]>

interface Settings extends VerifierSettings {
  /** Program and arguments that run `runVerification`. */
  readonly command: readonly string[]
  readonly residentUnits: ResidentUnits
  readonly clock: Clock
}

/**
 * Runs each verification in a separate process, because it reads and replays the whole journal while this process has
 * requests to answer. Only one runs at a time: callers that arrive meanwhile share its result.
 */
export class VerificationProcess {
  readonly #settings: Settings
  #run: Run | null = null

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** Null while no verification is running. */
  get pid(): number | null {
    return this.#run === null || this.#run.isOver ? null : this.#run.pid
  }

  /**
   * @param signal aborted when the caller is gone; the process is stopped when no caller is waiting any more
   * @throws VerificationError when the verification does not finish
   */
  async verify(signal: AbortSignal): Promise<Verification> {
    if (this.#run === null || this.#run.isOver) this.#run = startRun(this.#settings)
    return this.#run.join(signal)
  }
}

function startRun(settings: Settings): Run {
  try {
    return new Run(settings)
  } catch (error) {
    // The program is missing, or the machine cannot start another process.
    throw new VerificationError('not_started', 'Cannot start the verification process', { cause: error })
  }
}

class Run {
  readonly #child: Bun.Subprocess
  readonly #settings: Settings
  readonly #result = Promise.withResolvers<Verification>()
  #waiting = 0
  #isOver = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.#child = Bun.spawn([...settings.command], {
      env: childEnvironment(),
      stdio: ['ignore', 'ignore', 'inherit'],
      serialization: 'json',
      ipc: (message: FromVerifier) => this.#onMessage(message),
      onExit: (_, exitCode, signal) =>
        this.#fail(new VerificationError('ended', `The verification process ended with ${signal ?? exitCode}`)),
    })
    // All callers may be gone before the promise settles.
    this.#result.promise.catch(() => {})
    const cancelTimeout = settings.clock.after(VERIFICATION_MS_MAX, () =>
      this.#fail(new VerificationError('overdue', `Cannot wait any longer: ${VERIFICATION_MS_MAX} ms have passed`)),
    )
    void this.#child.exited.then(cancelTimeout)
  }

  get pid(): number {
    return this.#child.pid
  }

  get isOver(): boolean {
    return this.#isOver
  }

  join(signal: AbortSignal): Promise<Verification> {
    this.#waiting += 1
    const leave = () => {
      this.#waiting -= 1
      if (this.#waiting === 0)
        this.#fail(new VerificationError('abandoned', 'No caller is waiting for the verification'))
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    return this.#result.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  #onMessage(message: FromVerifier): void {
    if (this.#isOver) return
    switch (message.kind) {
      case 'up':
        this.#start()
        break
      case 'ask_live':
        void this.#tellLive(message.unitIds)
        break
      case 'done':
        this.#result.resolve(message.verification)
        this.#end()
        break
      case 'failed':
      case 'broken':
        this.#fail(new VerificationError(message.kind, message.message))
        break
    }
  }

  #start(): void {
    const { databaseUrl, secretKeyHex } = this.#settings
    this.#send({ kind: 'start', settings: { databaseUrl, secretKeyHex } })
  }

  /** Hashing one page takes a few milliseconds; the event loop is free between pages. */
  async #tellLive(unitIds: readonly string[]): Promise<void> {
    try {
      this.#send({ kind: 'live', units: await this.#settings.residentUnits(unitIds.slice(0, UNITS_PER_PAGE)) })
    } catch (cause) {
      this.#fail(new VerificationError('failed', 'Cannot read the units in memory', { cause }))
    }
  }

  #send(message: ToVerifier): void {
    try {
      this.#child.send(message)
    } catch {
      // The process has just ended; its exit event reports that.
    }
  }

  #fail(error: VerificationError): void {
    if (this.#isOver) return
    this.#result.reject(error)
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#child.kill('SIGKILL')
  }
}
