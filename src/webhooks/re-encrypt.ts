import { type SecretBox, SecretBoxError, type SecretOwner } from './secret-box.ts'

/** The sealed secrets of an endpoint's row: the one in use, and during an overlap the one before. */
export interface SealedSecrets extends SecretOwner {
  readonly secretSealed: string
  readonly previousSecretSealed: string | null
  /** The overlap has passed: the one before signs nothing more, whatever key it is sealed with. */
  readonly isPreviousOver: boolean
}

/** `owner`'s secrets open with neither key. */
export class UnopenedError extends Error {
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
 * What must change so that every secret opens with the new key alone. Rows that already do are left out, so that doing it
 * again changes nothing. A secret whose overlap has passed is dropped when it would stand in the way.
 * @throws UnopenedError naming every row that neither key opens; nothing is to be changed then
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

/** Whether `box` opens the secret in use. */
export function secretsOpen(box: SecretBox, row: SealedSecrets): boolean {
  return opens(box, row.secretSealed, row)
}

function reEncryptedPrevious(row: SealedSecrets, boxes: { from: SecretBox; to: SecretBox }): string | null {
  const { previousSecretSealed: previous, isPreviousOver } = row
  if (previous === null) return null
  if (isPreviousOver && !opens(boxes.to, previous, row) && !opens(boxes.from, previous, row)) return null
  return reEncryptedText(previous, row, boxes)
}

function reEncryptedText(sealed: string, owner: SecretOwner, { from, to }: { from: SecretBox; to: SecretBox }): string {
  if (opens(to, sealed, owner)) return sealed
  return to.seal(from.open(sealed, owner), owner)
}

function opens(box: SecretBox, sealed: string, owner: SecretOwner): boolean {
  try {
    box.open(sealed, owner)
    return true
  } catch (error) {
    if (error instanceof SecretBoxError) return false
    throw error
  }
}
