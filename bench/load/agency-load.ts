/** Requests of many agencies through one address: a closed loop, in this process. */
import { eventually } from '../../test/support/eventually.ts'
import type { AgencyRequests } from './agency-requests.ts'
import { HttpConnection } from './http-client.ts'

/**
 * - `alike`: every connection asks for one agency after the other, so all agencies get equally many answers, and a node that owns more of
 *   them than the others limits the whole.
 * - `each`: every connection asks for an agency of its own alone, as partners do: an agency whose node has time gets more answers. With
 *   fewer connections than agencies, the last agencies are not asked for.
 */
export type Shape = 'alike' | 'each'

export class AgencyLoad {
  /** Answers since the start, by agency. */
  readonly answered: number[]
  readonly #requests: AgencyRequests
  readonly #connections: HttpConnection[] = []
  #inFlight = 0
  #isOver = false
  #fault: string | null = null

  private constructor(requests: AgencyRequests) {
    this.answered = Array.from({ length: requests.agencies }, () => 0)
    this.#requests = requests
  }

  /** @param connections at most as many as there are agencies */
  static async start(
    url: string,
    requests: AgencyRequests,
    { shape, connections }: { shape: Shape; connections: number },
  ): Promise<AgencyLoad> {
    const load = new AgencyLoad(requests)
    await load.#open(new URL(url), shape, connections)
    return load
  }

  get total(): number {
    return this.answered.reduce((sum, count) => sum + count, 0)
  }

  /** @throws Error when an answer was not the wanted one */
  async untilEachHas(answers: number): Promise<void> {
    await eventually(`every agency has had ${answers} answers`, async () => {
      await Bun.sleep(50)
      return this.#fault !== null || this.answered.every((count) => count >= answers)
    })
    this.#check()
  }

  /** Returns when every request has its answer. @throws Error when one was not the wanted one */
  async stop(): Promise<void> {
    this.#isOver = true
    await eventually('what was asked is answered', () => this.#inFlight === 0 || this.#fault !== null)
    for (const connection of this.#connections) connection.close()
    this.#check()
  }

  async #open({ hostname, port }: URL, shape: Shape, connections: number): Promise<void> {
    let turn = 0
    const opened = Array.from({ length: connections }, (_, own) => {
      let agency = own
      const run = {
        next: () => {
          if (this.#isOver) return null
          if (shape === 'alike') agency = turn++ % this.answered.length
          this.#inFlight += 1
          return this.#requests.next(agency)
        },
        answered: () => {
          this.#inFlight -= 1
          this.answered[agency] = (this.answered[agency] as number) + 1
        },
        failed: (why: string) => {
          this.#fault ??= why
        },
      }
      return HttpConnection.open(Number(port), run, hostname)
    })
    this.#connections.push(...(await Promise.all(opened)))
    for (const connection of this.#connections) connection.send()
  }

  #check(): void {
    if (this.#fault !== null) throw new Error(`Cannot measure: ${this.#fault}`)
  }
}
