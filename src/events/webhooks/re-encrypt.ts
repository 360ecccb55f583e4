import { createHmac } from 'node:crypto'
import { SecretBox, SecretBoxError, type SecretOwner } from './secret-box.ts'

/**
 * The check value that the database keeps of its SECRET_KEY. It distinguishes keys without revealing them.
 * @param key 32 bytes
 * @returns 64 hexadecimal digits
 */
export function secretKeyCheck(key: Uint8Array): string {
  return createHmac('sha256', key).update('secret key check v1').digest('hex')
}

/**
 * Whether `key` may be the key of a database that has lost its check value: it decrypts at least one secret, or there are none.
 */
export function mayHaveSealed(key: Uint8Array, rows: readonly SealedSecrets[]): boolean {
  const box = new SecretBox(key)
  return rows.length === 0 || rows.some((row) => secretsOpen(box, row))
}

/** The encrypted secrets of an endpoint's row: the current one, and during an overlap the previous one. */
export interface SealedSecrets extends SecretOwner {
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
  /** The overlap has ended: the previous secret signs nothing any more, whichever key encrypted it. */
  readonly isPreviousOver: boolean
}

/** Neither key decrypts the secrets of `owners`. */
class UnopenedError extends Error {
  override readonly name = 'UnopenedError'
  constructor(readonly owners: readonly SecretOwner[]) {
    super(
      `Cannot open the secrets of ${owners.length} webhook endpoints with either key: ${owners
        .slice(0, 10)
        .map(({ endpointId }) => endpointId)
        .join(', ')}`,
    )
  }
}

export interface ReEncrypted {
  readonly before: SealedSecrets
  readonly after: SealedSecrets
}

/**
 * The changes after which every secret decrypts with the new key alone. Rows that already do are left out, so repeating
 * the operation changes nothing. A previous secret that neither key decrypts is dropped if its overlap has ended.
 * @throws UnopenedError naming every row that neither key decrypts; the caller must then change nothing
 */
export function reEncrypted(
  rows: readonly SealedSecrets[],
  { from, to }: { from: SecretBox; to: SecretBox },
): readonly ReEncrypted[] {
  const unopened: SecretOwner[] = []
  const changes: ReEncrypted[] = []
  for (const row of rows) {
    try {
      const secretSealed = reEncryptedText(row.secretSealed, row, { from, to })
      const previousSecretSealed = reEncryptedPrevious(row, { from, to })
      if (secretSealed === row.secretSealed && previousSecretSealed === row.previousSecretSealed) continue
      changes.push({ before: row, after: { ...row, secretSealed, previousSecretSealed } })
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      unopened.push(row)
    }
  }
  if (unopened.length > 0) throw new UnopenedError(unopened)
  return changes
}

/** Whether `box` decrypts the current secret. */
export function secretsOpen(box: SecretBox, row: SealedSecrets): boolean {
  return box.opens(row.secretSealed, row)
}

function reEncryptedPrevious(row: SealedSecrets, boxes: { from: SecretBox; to: SecretBox }): string | null {
  const { previousSecretSealed: previous, isPreviousOver } = row
  if (previous === null) return null
  if (isPreviousOver && !boxes.to.opens(previous, row) && !boxes.from.opens(previous, row)) return null
  return reEncryptedText(previous, row, boxes)
}

function reEncryptedText(sealed: string, owner: SecretOwner, { from, to }: { from: SecretBox; to: SecretBox }): string {
  if (to.opens(sealed, owner)) return sealed
  return to.seal(from.open(sealed, owner), owner)
}
