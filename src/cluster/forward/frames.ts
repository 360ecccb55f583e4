/**
 * Frames on one connection between two workers: the length of what follows (4 bytes), the kind (1), the id of the call (4), the length of
 * the head (4), the head as text, and the body, which is what is left. Integers are little-endian.
 */
import { assert } from '../../lib/assert.ts'

export const FRAME = {
  /** To the owner. */
  request: 1,
  /** Nobody waits for the answer any more. */
  cancel: 2,
  /** The next part of a stream is wanted. */
  pull: 3,
  /** From the owner: all of an answer. */
  answer: 4,
  notOwner: 5,
  /** An answer without its body, which comes in parts. */
  stream: 6,
  part: 7,
  end: 8,
  /** The answer, or its stream, has failed. */
  broken: 9,
} as const

export interface Frame {
  readonly kind: number
  readonly id: number
  readonly head: string
  readonly body: Buffer
}

const EMPTY = Buffer.alloc(0)
const LENGTH_BYTES = 4
/** Before the head. */
const PREFIX_BYTES = 13
/** Answers are held in memory whole, so there is no use in a limit below what a machine bears. */
export const FRAME_BYTES_MAX = 256 * 1_024 * 1_024
const ROOM_BYTES = 64 * 1_024
/** An empty queue does not keep more than this. */
const KEPT_BYTES_MAX = 1_024 * 1_024
const UTF8_BYTES_PER_CHAR = 3

/** Writes some of the bytes, and says how many. What is left is written when the connection takes more. */
export type Write = (bytes: Uint8Array) => number

/** What is to be sent on one connection: all frames of a turn of the event loop go out in one write. */
export class FrameQueue {
  readonly #write: Write
  #buffer = Buffer.allocUnsafe(ROOM_BYTES)
  #from = 0
  #to = 0
  #isBlocked = false
  #isDue = false

  constructor(write: Write) {
    this.#write = write
  }

  /** Bytes that wait to be sent. */
  get size(): number {
    return this.#to - this.#from
  }

  /** The connection takes no more at present. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  push(kind: number, id: number, head: string, body: string | Uint8Array | null): void {
    this.#makeRoom(PREFIX_BYTES + head.length * UTF8_BYTES_PER_CHAR + bytesMaxOf(body))
    const buffer = this.#buffer
    const at = this.#to
    const headBytes = buffer.write(head, at + PREFIX_BYTES, 'utf8')
    let end = at + PREFIX_BYTES + headBytes
    if (typeof body === 'string') end += buffer.write(body, end, 'utf8')
    else if (body !== null) {
      buffer.set(body, end)
      end += body.byteLength
    }
    assert(end - at <= FRAME_BYTES_MAX, `Cannot send a frame of ${end - at} bytes`)
    buffer.writeUInt32LE(end - at - LENGTH_BYTES, at)
    buffer[at + 4] = kind
    buffer.writeUInt32LE(id, at + 5)
    buffer.writeUInt32LE(headBytes, at + 9)
    this.#to = end
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => this.flush())
  }

  /** Sends what is there now. */
  flush(): void {
    this.#isDue = false
    if (this.#isBlocked || this.#from === this.#to) return
    this.#from += Math.max(0, this.#write(this.#buffer.subarray(this.#from, this.#to)))
    this.#isBlocked = this.#from < this.#to
    if (this.#isBlocked) return
    this.#from = 0
    this.#to = 0
    if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = Buffer.allocUnsafe(ROOM_BYTES)
  }

  /** The connection takes more. */
  unblock(): void {
    this.#isBlocked = false
    this.flush()
  }

  #makeRoom(bytes: number): void {
    if (this.#buffer.length - this.#to >= bytes) return
    const { size } = this
    const needed = size + bytes
    // Not in place: the connection may still read from what it was given.
    const buffer = Buffer.allocUnsafe(
      Math.max(ROOM_BYTES, needed > this.#buffer.length ? needed * 2 : this.#buffer.length),
    )
    this.#buffer.copy(buffer, 0, this.#from, this.#to)
    this.#buffer = buffer
    this.#from = 0
    this.#to = size
  }
}

function bytesMaxOf(body: string | Uint8Array | null): number {
  if (body === null) return 0
  return typeof body === 'string' ? body.length * UTF8_BYTES_PER_CHAR : body.byteLength
}

/** Takes the bytes of one connection, in whatever pieces they come, and makes frames of them. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void
  #pieces: Buffer[] = []
  #piecesBytes = 0
  /** How many bytes there must be for the next frame, as far as is known. */
  #needed = LENGTH_BYTES

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  /** @returns false: these are no frames, and nothing more must be read from the connection */
  read(piece: Buffer): boolean {
    let bytes = piece
    if (this.#piecesBytes > 0) {
      this.#pieces.push(piece)
      this.#piecesBytes += piece.length
      if (this.#piecesBytes < this.#needed) return true
      bytes = Buffer.concat(this.#pieces)
      this.#pieces = []
      this.#piecesBytes = 0
    }
    let at = 0
    this.#needed = LENGTH_BYTES
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = bytes.readUInt32LE(at)
      if (length < PREFIX_BYTES - LENGTH_BYTES || length > FRAME_BYTES_MAX) return false
      const end = at + LENGTH_BYTES + length
      if (bytes.length < end) {
        this.#needed = end - at
        break
      }
      const headEnd = at + PREFIX_BYTES + bytes.readUInt32LE(at + 9)
      if (headEnd > end) return false
      this.#onFrame({
        kind: bytes[at + 4] as number,
        id: bytes.readUInt32LE(at + 5),
        head: bytes.toString('utf8', at + PREFIX_BYTES, headEnd),
        body: headEnd === end ? EMPTY : bytes.subarray(headEnd, end),
      })
      at = end
    }
    if (at < bytes.length) {
      this.#pieces = [at === 0 ? bytes : bytes.subarray(at)]
      this.#piecesBytes = bytes.length - at
    }
    return true
  }
}
