import { BODY_BYTES_MAX } from '../../http/read-request.ts'

/** `ArrayBuffer` is what `Request.arrayBuffer` gives; whoever decodes text takes either. */
export type Body = ArrayBuffer | Uint8Array<ArrayBuffer>

const NONE = new Uint8Array(0)

/**
 * The body of a request that may have to be sent more than once. Whoever answers the request here reads it as from any request; it is
 * read from the connection once, and kept. Of a body that is too large no more is read than shows that.
 */
export class KeptBody {
  readonly #request: Request
  #bytes: Promise<Body> | null = null

  /** `request`: its body has not been read. */
  constructor(request: Request) {
    this.#request = request
  }

  /** Lets the request be answered here. Only a body without a declared length is read before: the stream of one cannot be kept. */
  async lend(): Promise<void> {
    const request = this.#request
    if (!request.headers.has('content-length') && (this.isRead || request.body !== null))
      request.headers.set('Content-Length', String((await this.bytes()).byteLength))
    // The app reads a body with a declared length in no other way (src/http/read-request.ts).
    Object.defineProperty(request, 'arrayBuffer', { value: () => this.bytes(), configurable: true })
  }

  get isRead(): boolean {
    return this.#bytes !== null
  }

  /**
   * The body, or as many zeros as are too many, or the beginning of one whose connection has closed before all of it arrived: its receiver
   * refuses these as it would refuse the body, and counts and records that.
   */
  bytes(): Promise<Body> {
    this.#bytes ??= this.#read().catch(() => CUT_SHORT)
    return this.#bytes
  }

  async #read(): Promise<Body> {
    const request = this.#request
    const declared = request.headers.get('content-length')
    if (declared !== null)
      return Number(declared) > BODY_BYTES_MAX ? TOO_MANY : Request.prototype.arrayBuffer.call(request)
    if (request.body === null) return NONE
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of request.body) {
      size += chunk.byteLength
      if (size > BODY_BYTES_MAX) return TOO_MANY
      chunks.push(chunk)
    }
    return new Uint8Array(Buffer.concat(chunks))
  }
}

const TOO_MANY = new Uint8Array(BODY_BYTES_MAX + 1)
const CUT_SHORT = new TextEncoder().encode('{')
