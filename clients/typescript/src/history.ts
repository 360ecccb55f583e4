import { HistoryRewrittenError } from './errors.ts'
import { type CallOptions, Resource } from './transport.ts'

/** Stands for an agency's history up to a moment: the root of a Merkle tree (RFC 6962) over its entries. */
export interface Checkpoint {
  /** Names the history. After a restore from a backup it is another one. */
  readonly origin: string
  /** Entries. */
  readonly size: number
  /** SHA-256, in base64. */
  readonly root: string
  /** What the service has signed: keep this. */
  readonly note: string
}

export class History extends Resource {
  /** The newest checkpoint. It covers a change within a minute. */
  async checkpoint(options?: CallOptions): Promise<Checkpoint> {
    return (await this.http.send({ path: ['checkpoint'], read: readNote }, options)).body
  }

  /**
   * Checks that a history only grew: that of `before` is the beginning of that of `after`.
   * @param before the note of a checkpoint, as are `after`
   * @throws HistoryRewrittenError
   */
  async verify(before: string, after: string, options?: CallOptions): Promise<void> {
    const [from, to] = [readNote(before), readNote(after)]
    const { contradictionOf } = await import('./proof.ts')
    const contradiction = await contradictionOf(from, to, this.http, options)
    if (contradiction !== null) throw new HistoryRewrittenError(contradiction, before, after)
  }
}

/** @throws TypeError */
export function readNote(note: string): Checkpoint {
  const [, origin = '', size, root = ''] =
    /^(.+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:.+\n)*\n(?:— .+\n)+$/.exec(note) ?? []
  if (size === undefined) throw new TypeError('A checkpoint must be a signed note, as the service has sent it')
  return { origin, size: Number(size), root, note }
}
