/**
 * Signed checkpoints in the format of C2SP `tlog-checkpoint` and `signed-note`, which Go's `golang.org/x/mod/sumdb/note` reads and writes:
 * an origin, a size and a root, signed with Ed25519.
 *
 * - M3 A checkpoint says only what the stored tree says, and a checkpoint's tree is the beginning of that of every later one of its origin.
 */

import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto'
import { HASH_BYTES } from '../../lib/merkle-hash.ts'
import type { Hash } from './merkle-tree.ts'

/** What a checkpoint says. */
export interface Checkpoint {
  /** Names the log: this history of the ledger, and the agency. */
  readonly origin: string
  /** Leaves. */
  readonly size: number
  readonly root: Hash
}

const KEY_NAME = 'nightledger-checkpoint'
/** The type of a signature in a note. */
const ED25519 = 1
/** DER of an Ed25519 key in PKCS #8 and in SPKI, up to its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const PUBLIC_KEY_BYTES = 32

/**
 * @param historyId a UUID: after a restore from a backup it is another one, and so is the log
 * @param agencyId `agc_…`
 */
export function originOf(historyId: string, agencyId: string): string {
  return `nightledger/${historyId}/${agencyId}`
}

/** Signs checkpoints. The key is derived from SECRET_KEY, so that all nodes have it and no other secret has to be kept. */
export class CheckpointSigner {
  readonly #key: KeyObject
  readonly #keyHash: Buffer
  /** The public key, as Go's `note.NewVerifier` takes it: `<name>+<hash>+<base64>`. */
  readonly vkey: string

  /** @param secretKey 32 bytes */
  constructor(secretKey: Uint8Array) {
    const seed = Buffer.from(hkdfSync('sha256', secretKey, '', 'nightledger-checkpoint-key', 32))
    this.#key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
    const spki = createPublicKey(this.#key).export({ format: 'der', type: 'spki' })
    const encoded = Buffer.from([ED25519, ...spki.subarray(SPKI.length)])
    this.#keyHash = keyHashOf(KEY_NAME, encoded)
    this.vkey = `${KEY_NAME}+${this.#keyHash.toString('hex')}+${encoded.toString('base64')}`
  }

  /** The signed note. */
  sign(checkpoint: Checkpoint): string {
    const text = textOf(checkpoint)
    const signature = Buffer.concat([this.#keyHash, sign(null, Buffer.from(text), this.#key)])
    return `${text}\n— ${KEY_NAME} ${signature.toString('base64')}\n`
  }
}

function textOf({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`
}

function keyHashOf(name: string, encoded: Uint8Array): Buffer {
  return Buffer.from(new Bun.CryptoHasher('sha256').update(`${name}\n`).update(encoded).digest().subarray(0, 4))
}

const SIZE = /^(?:0|[1-9][0-9]{0,14})$/
const VKEY = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/

/** What a note says, without checking its signature; null if it is no checkpoint. */
export function readCheckpoint(note: string): Checkpoint | null {
  const [origin = '', size = '', root = '', blank] = note.split('\n')
  const hash = Buffer.from(root, 'base64')
  if (
    origin === '' ||
    !SIZE.test(size) ||
    hash.length !== HASH_BYTES ||
    hash.toString('base64') !== root ||
    blank !== ''
  )
    return null
  return { origin, size: Number(size), root: hash }
}

/** Whether one of the note's signatures is one of this key, as `/.well-known/nightledger-checkpoint-key` lists it. */
export function isSignedBy(note: string, vkey: string): boolean {
  const [, name, hash, base64] = VKEY.exec(vkey) ?? []
  const end = note.indexOf('\n\n')
  if (name === undefined || hash === undefined || base64 === undefined || end < 0) return false
  const encoded = Buffer.from(base64, 'base64')
  if (encoded[0] !== ED25519 || encoded.length !== PUBLIC_KEY_BYTES + 1) return false
  if (keyHashOf(name, encoded).toString('hex') !== hash) return false
  const text = Buffer.from(note.slice(0, end + 1))
  const key = createPublicKey({ key: Buffer.concat([SPKI, encoded.subarray(1)]), format: 'der', type: 'spki' })
  return note
    .slice(end + 2)
    .split('\n')
    .filter((line) => line.startsWith(`— ${name} `))
    .map((line) => Buffer.from(line.slice(name.length + 3), 'base64'))
    .some((signature) => signature.toString('hex', 0, 4) === hash && verify(null, text, key, signature.subarray(4)))
}
