/** Partners that follow the feed over whatever happens to the service, and remember what they were shown. */
import { openStream } from './event-stream.ts'

interface ShownChange {
  readonly cursor: string
  readonly seq: number
}

/** Follows the changes of one key, over long polls or streams, from the start. A connection that is lost is made again. */
export class ChangeFollower {
  readonly shown: ShownChange[] = []
  /** Answers that were neither changes nor lost. */
  readonly faults: string[] = []
  /** Connections that were lost or refused. */
  interruptions = 0
  readonly #address: () => string
  readonly #secret: string
  #cursor = 'start'
  #isStopping = false
  #running: Promise<void> = Promise.resolve()

  /** @param baseUrl asked again for every request */
  constructor(baseUrl: () => string, secret: string) {
    this.#address = () => `${baseUrl()}/partner/v1/changes`
    this.#secret = secret
  }

  get cursor(): string {
    return this.#cursor
  }

  start(how: 'poll' | 'stream'): void {
    this.#running = this.#run(how === 'poll' ? () => this.#poll() : () => this.#stream())
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  async #run(once: () => Promise<void>): Promise<void> {
    while (!this.#isStopping) {
      try {
        await once()
      } catch {
        this.interruptions += 1
        await Bun.sleep(10)
      }
    }
  }

  async #poll(): Promise<void> {
    const response = await fetch(`${this.#address()}?after=${this.#cursor}&wait=2&limit=50`, {
      headers: { authorization: `Bearer ${this.#secret}` },
    })
    const body = (await response.json()) as { changes?: ShownChange[]; cursor: string }
    if (!this.#isAnswer(response, body)) return
    this.shown.push(...(body.changes ?? []).map(({ cursor, seq }) => ({ cursor, seq })))
    this.#cursor = body.cursor
  }

  async #stream(): Promise<void> {
    const stream = await openStream(`${this.#address()}?after=start&limit=50`, {
      authorization: `Bearer ${this.#secret}`,
      ...(this.#cursor === 'start' ? {} : { 'last-event-id': this.#cursor }),
    })
    if (!this.#isAnswer(stream.response, null)) return stream.close()
    let taken = 0
    const take = () => {
      for (const { id, data } of stream.events.slice(taken)) this.shown.push({ cursor: id, seq: JSON.parse(data).seq })
      taken = stream.events.length
      this.#cursor = stream.lastEventId() || this.#cursor
    }
    let hasEnded = false
    void stream.ended.then(() => {
      hasEnded = true
    })
    while (!hasEnded && !this.#isStopping) {
      await Bun.sleep(5)
      take()
    }
    stream.close()
    await stream.ended
    take()
    this.interruptions += 1
  }

  /** A process that starts, or that has been fenced, says so: that is as good as a lost connection. */
  #isAnswer(response: Response, body: unknown): boolean {
    if (response.status === 200) return true
    if (response.status < 500) this.faults.push(`${response.status} ${JSON.stringify(body)}`)
    throw new Error(`Answered with ${response.status}`)
  }
}
