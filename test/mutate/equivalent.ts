/** Mutations that change nothing a caller, an operator or a metric could see, by file: the line before and after, and why. */
const EQUIVALENT: Record<string, readonly { before: string; after: string; why: string }[] | undefined> = {
  'src/access/rate-slots.ts': [
    {
      before: 'current.total += 1',
      after: 'current.total -= 1',
      why: "This number is compared only with its own earlier value, to see whether a slot has grown during a write, and counting down shows that as well; the total that is written is the sum of the keys' own counts.",
    },
  ],
  'src/access/usage-meter.ts': [
    {
      before: 'if (kept.month !== null && kept.months === this.#counters) return kept.month',
      after: 'if (kept.month === null && kept.months === this.#counters) return kept.month',
      why: 'The kept counter is a shortcut past a map: with the mutation it is never taken, and the look-up finds the same counter, because a key whose agency comes from another process starts without a kept one.',
    },
  ],
  'src/api/http/answer.ts': [
    {
      before: 'if (sharedByLimit[kind].size < LIMITS_KEPT_MAX) sharedByLimit[kind].set(limit, shared)',
      after: 'if (!(sharedByLimit[kind].size < LIMITS_KEPT_MAX)) sharedByLimit[kind].set(limit, shared)',
      why: 'The remembered headers are only a saving: without them every answer gets the same headers, made for it alone.',
    },
  ],
  'src/api/partner/partner-description.ts': [
    {
      before: "if (operation.isConditional === true && status <= 304) return [...names, 'ETag', 'Cache-Control']",
      after: "if (operation.isConditional === true && status <= 305) return [...names, 'ETag', 'Cache-Control']",
      why: 'No operation answers 305, so the document is the same byte for byte.',
    },
  ],
  'src/changes/change-feed.ts': [
    {
      before: 'this.#cursors.set(agencyId, cursors)',
      after: '{}',
      why: 'A Cursors holds nothing but what it computes from the ledger and the agency, so one that is made each time reads and writes the same cursors and only costs a hash.',
    },
  ],
  'src/core/bookings/offer-page.ts': [
    {
      before: 'const rows = 2 * this.#units.length',
      after: 'const rows = 3 * this.#units.length',
      why: 'It only says by how much the arrays grow when they are full: the rows in them and their order stay the same.',
    },
  ],
  'src/core/domain/money.ts': [
    {
      before: 'const FAST_PRODUCT_MAX = Number.MAX_SAFE_INTEGER - 5_000',
      after: 'const FAST_PRODUCT_MAX = Number.MAX_SAFE_INTEGER - 5001',
      why: 'It only moves the limit between two ways to compute the same number: for products near the limit, both are exact.',
    },
  ],
  'src/postgres/stores/postgres-session-rows.ts': [
    {
      before: 'if (agencyId !== null && tokenId !== null) {',
      after: 'if (agencyId !== null || tokenId !== null) {',
      why: 'A check of portal_session makes agency_id and token_id null together or not at all, so no row tells the two conditions apart.',
    },
  ],
}

export function isEquivalent(file: string, { before, after }: { before: string; after: string }): boolean {
  return EQUIVALENT[file]?.some((known) => known.before === before && known.after === after) === true
}
