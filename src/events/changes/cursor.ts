/**
 * Cursors of the feeds (docs/design.md#changes): opaque to whoever reads, and made of nothing secret. They open nothing beyond what the key
 * or token that comes with them may read, and stay valid when `SECRET_KEY` is changed.
 *
 * Layout: kind (1 byte), history (8), agency (8), sequence number (8), fingerprint (8), checksum of all before (4), in base64url.
 */
import { type Link, NO_LINK } from '../../core/journal/shard.ts'
import { uuidOf } from '../../lib/ids.ts'

/**
 * A place in the log of an agency's shard: after the entry with this number. The fingerprint is the beginning of the link of the
 * last entry up to there, 16 hexadecimal digits. A link covers everything before it, so another history has another fingerprint.
 */
export interface LogPosition {
  readonly seq: number
  readonly fingerprint: string
}

type ReadCursor =
  | { readonly kind: 'read'; readonly position: LogPosition }
  /** Of another feed, or not one of ours. */
  | { readonly kind: 'malformed' }
  /** `digest`: as cursors name it, 16 hexadecimal digits. It may be that of a sandbox before its reset. */
  | { readonly kind: 'of_another_agency'; readonly digest: string }
  /** Of the log of another database. */
  | { readonly kind: 'of_another_history' }

/** By their first byte: a cursor of one feed opens no other. */
const FIRST_BYTE = { partner: 1, portal: 2 } as const

/** Whose feed it is. */
export type CursorKind = keyof typeof FIRST_BYTE

const HISTORY_AT = 1
const AGENCY_AT = 9
const SEQ_AT = 17
const FINGERPRINT_AT = 25
const CHECKSUM_AT = 33
const LENGTH = 37
/** Of a whole cursor, without padding. */
const CURSOR = /^[A-Za-z0-9_-]{50}$/

export function fingerprintOf(link: Link): string {
  return Buffer.from(link === NO_LINK ? [] : link.subarray(0, 8))
    .toString('hex')
    .padEnd(16, '0')
}

export function isSamePosition(a: LogPosition, b: LogPosition): boolean {
  return a.seq === b.seq && a.fingerprint === b.fingerprint
}

/** The cursors of one agency in one feed. */
export class Cursors {
  /** What all of them begin with: kind, history, agency. */
  readonly #head: Buffer

  /** @param historyId of the ledger, a UUID */
  constructor(historyId: string, agencyId: string, kind: CursorKind) {
    const agency = new Bun.CryptoHasher('sha256').update(uuidOf(agencyId)).digest()
    this.#head = Buffer.alloc(SEQ_AT)
    this.#head[0] = FIRST_BYTE[kind]
    this.#head.write(historyId.replaceAll('-', ''), HISTORY_AT, AGENCY_AT - HISTORY_AT, 'hex')
    this.#head.set(agency.subarray(0, SEQ_AT - AGENCY_AT), AGENCY_AT)
  }

  write({ seq, fingerprint }: LogPosition): string {
    const bytes = Buffer.alloc(LENGTH)
    bytes.set(this.#head)
    bytes.writeBigUInt64BE(BigInt(seq), SEQ_AT)
    bytes.write(fingerprint, FINGERPRINT_AT, CHECKSUM_AT - FINGERPRINT_AT, 'hex')
    bytes.writeUInt32BE(checksumOf(bytes), CHECKSUM_AT)
    return bytes.toString('base64url')
  }

  read(text: string): ReadCursor {
    if (!CURSOR.test(text)) return { kind: 'malformed' }
    const bytes = Buffer.from(text, 'base64url')
    const isWhole = bytes.readUInt32BE(CHECKSUM_AT) === checksumOf(bytes) && bytes.toString('base64url') === text
    const seq = Number(bytes.readBigUInt64BE(SEQ_AT))
    if (!isWhole || bytes[0] !== this.#head[0] || !Number.isSafeInteger(seq)) return { kind: 'malformed' }
    if (!this.#isSame(bytes, AGENCY_AT, SEQ_AT))
      return { kind: 'of_another_agency', digest: bytes.toString('hex', AGENCY_AT, SEQ_AT) }
    if (!this.#isSame(bytes, HISTORY_AT, AGENCY_AT)) return { kind: 'of_another_history' }
    return { kind: 'read', position: { seq, fingerprint: bytes.toString('hex', FINGERPRINT_AT, CHECKSUM_AT) } }
  }

  #isSame(bytes: Buffer, from: number, to: number): boolean {
    return bytes.compare(this.#head, from, to, from, to) === 0
  }
}

function checksumOf(bytes: Buffer): number {
  return Bun.hash.crc32(bytes.subarray(0, CHECKSUM_AT))
}
