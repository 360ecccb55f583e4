/** A journal row or snapshot does not say what it said when it was written. */
export class CorruptLedgerError extends Error {
  override readonly name = 'CorruptLedgerError'
}

/** @throws CorruptLedgerError */
export function corrupt(what: string): never {
  throw new CorruptLedgerError(`Cannot read the ledger: ${what} is not as it was written`)
}
