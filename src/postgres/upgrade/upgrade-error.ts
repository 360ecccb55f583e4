/** The ledger of the previous version cannot be upgraded, or taken back. The message says what was changed and what to do. */
export class UpgradeError extends Error {
  override readonly name = 'UpgradeError'
}
