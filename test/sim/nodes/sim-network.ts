import type { NodeFetch, NodeFetchInit } from '../../../src/cluster/forward/node-call.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import type { SimNode } from './sim-node.ts'

/** After which a connection that nothing comes back on is taken for lost, if nobody gives it up before. */
const SILENCE_MS_MAX = 60_000
const EVENT_STREAM = 'text/event-stream'

/** `isSent`: something of the request may have reached the node. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError'
  constructor(readonly isSent: boolean) {
    super(isSent ? 'The connection was lost' : 'The connection was refused')
  }
}

/** HTTP between clients and nodes, and among nodes: requests and answers take time, come late, and are lost. */
export class SimNetwork {
  /** What nodes must not have done with requests. */
  readonly broken: string[] = []
  /** Requests that nodes have sent to each other. */
  forwarded = 0
  /** Of 1,000 requests among nodes, and as many answers. */
  lossPermille = 0
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #nodes: readonly SimNode[]
  /** By request: the node that it came in by. */
  readonly #entries = new Map<string, SimNode>()
  #requests = 0

  /** @param nodes every one that ever ran, oldest first */
  constructor(clock: FakeClock, dice: SeededRandom, nodes: readonly SimNode[]) {
    this.#clock = clock
    this.#dice = dice
    this.#nodes = nodes
  }

  /**
   * A request of a client.
   * @throws NetworkError
   */
  async enter(node: SimNode, request: Request): Promise<Response> {
    const id = `r${++this.#requests}`
    this.#entries.set(id, node)
    request.headers.set('X-Request-Id', id)
    await this.#travel()
    const answer = await this.#exchange(null, node, request)
    if (answer.status === 421 || answer.status === 401)
      this.broken.push(`C5: a client of ${node.name} was answered ${answer.status}, and not by the owner`)
    return answer
  }

  /** As this node reaches the others. */
  fetchOf(from: SimNode): NodeFetch {
    return (url, init) => from.receive(this.#fetch(from, url, init))
  }

  async #fetch(from: SimNode, url: string, { method, headers, body, signal }: NodeFetchInit): Promise<Response> {
    this.forwarded += 1
    this.#noteHop(from, headers)
    const target = this.#nodes.findLast(({ name }) => name === new URL(url).hostname)
    const sent = new Headers(headers)
    if (body !== null) sent.set('Content-Length', String(body.byteLength))
    const leaving = new AbortController()
    const request = new Request(url, { method, headers: sent, body, signal: leaving.signal })
    const gone = Promise.withResolvers<never>()
    // The node learns of it later than of the request.
    const leave = () => {
      gone.reject(signal.reason)
      this.#clock.after(this.#dice.below(10), () => target?.run(() => leaving.abort()))
    }
    if (signal.aborted) throw signal.reason
    signal.addEventListener('abort', leave, { once: true })
    return Promise.race([gone.promise, this.#between(from, target, request)])
  }

  async #between(from: SimNode, target: SimNode | undefined, request: Request): Promise<Response> {
    await this.#travel()
    if (target === undefined || target.isDead) throw new NetworkError(false)
    if (isCut(from, target)) await this.#silence()
    if (this.#isLost()) {
      // It is lost, or it arrives and its sender hears no more of it.
      if (this.#dice.chance(0.5)) void this.#exchange(from, target, request).catch(() => {})
      await this.#sleep(this.#dice.below(300))
      throw new NetworkError(true)
    }
    const answer = await this.#exchange(from, target, request)
    if (isCut(from, target)) await this.#silence()
    if (!this.#isLost()) return answer
    // All of it, or its second half.
    if (this.#dice.chance(0.5)) throw new NetworkError(true)
    const { status, headers } = answer
    return new Response(new ReadableStream({ pull: (half) => half.error(new NetworkError(true)) }), { status, headers })
  }

  /** What the node answers, as it comes out of the socket. Rejects when the node dies before. */
  async #exchange(from: SimNode | null, node: SimNode, request: Request): Promise<Response> {
    if (node.isDead) throw new NetworkError(false)
    const answered = new Promise<Response>((resolve, reject) => {
      node.run(() => void Promise.resolve(node.answer(request)).then(resolve, reject))
    })
    const answer = await Promise.race([answered, node.died.then(() => Promise.reject(new NetworkError(true)))])
    const headers = new Headers(answer.headers)
    const { status } = answer
    if (headers.get('content-type') === EVENT_STREAM && answer.body !== null)
      return new Response(this.#stream(from, node, answer.body), { status, headers })
    const bytes = await answer.arrayBuffer()
    headers.set('Content-Length', String(bytes.byteLength))
    await this.#travel()
    return new Response(status === 204 ? null : bytes, { status, headers })
  }

  /** The stream of a node, which breaks when the node dies or is cut off. */
  #stream(
    from: SimNode | null,
    node: SimNode,
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = body.getReader()
    const died = node.died.then(() => Promise.reject(new NetworkError(true)))
    died.catch(() => {})
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await Promise.race([reader.read(), died])
        await this.#travel()
        if (from !== null && isCut(from, node)) await this.#silence()
        if (from !== null && this.#isLost()) throw new NetworkError(true)
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => reader.cancel(),
    })
  }

  #noteHop(from: SimNode, headers: Headers): void {
    const id = headers.get('x-request-id') ?? 'a request without an id'
    const entry = this.#entries.get(id)
    if (entry !== from)
      this.broken.push(`C8: ${id} came in by ${entry?.name ?? 'no node'}, and ${from.name} sent it on once more`)
  }

  #isLost(): boolean {
    return this.#dice.below(1_000) < this.lossPermille
  }

  async #silence(): Promise<never> {
    await this.#sleep(SILENCE_MS_MAX)
    throw new NetworkError(true)
  }

  #travel(): Promise<void> {
    return this.#sleep(this.#dice.below(10))
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }
}

function isCut(a: SimNode, b: SimNode): boolean {
  return a.isCutFrom('nodes') || b.isCutFrom('nodes')
}
