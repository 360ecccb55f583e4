/** Mutations that change nothing a caller, an operator or a metric could see, by file: the line before and after, and why. */
const EQUIVALENT: Record<string, readonly { before: string; after: string; why: string }[] | undefined> = {
  'sql/001_schema.sql': [
    {
      before: 'coalesce(bool_or(s.place > room), false)',
      after: 'coalesce(bool_or(s.place >= room), false)',
      why: 'If just as many endpoints wait as there is room for, one of them has room for one entry and at least one waits: there may be more already.',
    },
    {
      before: 'if entries_max > 0 then',
      after: 'if entries_max >= 0 then',
      why: 'With room for no entry the query returns none.',
    },
    {
      before: 'if exists (select from journal j where j.month >= later) then',
      after: 'if exists (select from journal j where j.month > later) then',
      why: 'The other branch finds the entries whose predecessor is not in the newest month, which are those to look at.',
    },
    {
      before: 'where j.seq is null or e.month <> newest_month)',
      after: 'where j.seq is null or e.month = newest_month)',
      why: 'It only decides whether the numbers are checked a second time, entry by entry: with the mutation they always are.',
    },
  ],
  'src/accounts/portal-sessions.ts': [
    {
      before: 'this.#cancelSweep()',
      after: '{}',
      why: 'Only the timer sweeps, and it has fired. A second one would only look for the same sessions again.',
    },
  ],
  'src/accounts/rate-limit.ts': [
    {
      before: 'if (this.#size > 0 && this.#stampAt(this.#size - 1) <= leftBy) {',
      after: 'if (this.#size > 0 && this.#stampAt(this.#size - 1) < leftBy) {',
      why: 'It is a shortcut for a loop that removes the same entries one by one.',
    },
  ],
  'src/accounts/rate-slots.ts': [
    {
      before: 'current.total += 1',
      after: 'current.total -= 1',
      why: "This number is compared only with its own earlier value, to see whether a slot has grown during a write, and counting down shows that as well; the total that is written is the sum of the keys' own counts.",
    },
  ],
  'src/accounts/usage-meter.ts': [
    {
      before: 'if (kept.month !== null && kept.months === this.#counters) return kept.month',
      after: 'if (kept.month === null && kept.months === this.#counters) return kept.month',
      why: 'The kept counter is a shortcut past a map: with the mutation it is never taken, and the look-up finds the same counter, because a key whose agency comes from another process starts without a kept one.',
    },
  ],
  'src/http/answer.ts': [
    {
      before: 'if (sharedByLimit[kind].size < LIMITS_KEPT_MAX) sharedByLimit[kind].set(limit, shared)',
      after: 'if (!(sharedByLimit[kind].size < LIMITS_KEPT_MAX)) sharedByLimit[kind].set(limit, shared)',
      why: 'The remembered headers are only a saving: without them every answer gets the same headers, made for it alone.',
    },
    {
      before: 'shared.resetAtS = resetAtS',
      after: '{}',
      why: 'The remembered time is only a saving: without it every answer sets its header, to the same value.',
    },
  ],
  'src/http/read-request.ts': [
    {
      before: 'if (parameters.length > 0) {',
      after: 'if (parameters.length >= 0) {',
      why: 'Without parameters the loop does nothing, and the values are an empty object either way.',
    },
    {
      before: 'if (code === UPPER_E || (code === LOWER_E && isDigit(text.charCodeAt(i - 1)))) isPlain = false',
      after: 'if (code === UPPER_E || (code === LOWER_E || isDigit(text.charCodeAt(i - 1)))) isPlain = false',
      why: 'It only means that more bodies are looked through, in which nothing is found that cannot be stored.',
    },
  ],
  'src/api/partner/partner-description.ts': [
    {
      before: "if (operation.isConditional === true && status <= 304) return [...names, 'ETag', 'Cache-Control']",
      after: "if (operation.isConditional === true && status <= 305) return [...names, 'ETag', 'Cache-Control']",
      why: 'No operation answers 305, so the document is the same byte for byte.',
    },
  ],
  'src/api/portal/restrictions-preview.ts': [
    {
      before: 'const pause = slices.spend(2 * nights)',
      after: 'const pause = slices.spend(3 * nights)',
      why: 'It only makes the slices shorter: the answer is the same, and so is what it takes from the pace of large answers.',
    },
  ],
  'src/events/changes/agency-feed.ts': [
    {
      before: 'return this.#emptyPage(isKnown && end.seq > position.seq ? end : position, upTo)',
      after: 'return this.#emptyPage(isKnown && end.seq >= position.seq ? end : position, upTo)',
      why: 'Both are places in the same log, so with the same number they are the same place.',
    },
    {
      before: 'place.onEnd = null',
      after: '{}',
      why: 'A wait that is over can be ended again: its timer and its promise have ended, and the next wait of the place replaces it.',
    },
    {
      before: "if (ms <= 0) return Promise.resolve('elapsed')",
      after: "if (ms < 0) return Promise.resolve('elapsed')",
      why: 'A timer of 0 ms elapses in the next turn of the event loop.',
    },
  ],
  'src/events/changes/cursor.ts': [
    {
      before: "this.#head.write(historyId.replaceAll('-', ''), HISTORY_AT, AGENCY_AT - HISTORY_AT, 'hex')",
      after: "this.#head.write(historyId.replaceAll('-', ''), HISTORY_AT, AGENCY_AT + HISTORY_AT, 'hex')",
      why: 'It writes two bytes more, which those of the agency then replace.',
    },
  ],
  'src/events/changes/change-feed.ts': [
    {
      before: 'this.#cursors.set(agencyId, cursors)',
      after: '{}',
      why: 'A Cursors holds nothing but what it computes from the ledger and the agency, so one that is made each time reads and writes the same cursors and only costs a hash.',
    },
  ],
  'src/core/bookings/offer-page.ts': [
    {
      before: 'return byArrival === 0 ? unit < other : byArrival < 0',
      after: 'return byArrival === 0 ? unit < other : byArrival < 1',
      why: 'Arrivals are whole numbers, and here they differ.',
    },
    {
      before: 'const rows = 2 * this.#units.length',
      after: 'const rows = 3 * this.#units.length',
      why: 'It only says by how much the arrays grow when they are full: the rows in them and their order stay the same.',
    },
  ],
  'src/core/domain/bookable-arrivals.ts': [
    {
      before: 'for (let word = 0; word < bits.length; word++) {',
      after: 'for (let word = 0; word <= bits.length; word++) {',
      why: 'Writing beyond the end of a typed array does nothing.',
    },
  ],
  'src/core/domain/night-guard.ts': [
    {
      before: 'for (let i = 0; i < to - from; i++) {',
      after: 'for (let i = 0; i <= to - from; i++) {',
      why: 'It looks at one more arrival, on the day of the latest departure, whose bit is never set.',
    },
  ],
  'src/core/domain/night-bitmap.ts': [
    {
      before: 'while (start < end && this.#words[start] === 0) start++',
      after: 'while (start <= end && this.#words[start] === 0) start++',
      why: 'At the end there is no word, and undefined is not 0.',
    },
    {
      before: 'while (end > start && this.#words[end - 1] === 0) end--',
      after: 'while (end >= start && this.#words[end - 1] === 0) end--',
      why: 'It only differs for a set without nights, whose copy has no words either way.',
    },
  ],
  'src/core/journal/journal.ts': [
    {
      before: 'this.#isDispatchDue = true',
      after: '{}',
      why: 'Without it, a turn of the event loop ends with several dispatches, of which all but the first find nothing to do.',
    },
  ],
  'src/core/domain/money.ts': [
    {
      before: 'const FAST_PRODUCT_MAX = Number.MAX_SAFE_INTEGER - 5_000',
      after: 'const FAST_PRODUCT_MAX = Number.MAX_SAFE_INTEGER - 5001',
      why: 'It only moves the limit between two ways to compute the same number: for products near the limit, both are exact.',
    },
  ],
  'src/postgres/stores/postgres-agency-bookings.ts': [
    {
      before: `join journal j on j.unit_id = s.unit_id and j.booking_id = \${booking} and j.other_unit_id is not null)`,
      after: `join journal j on j.unit_id = s.unit_id and j.booking_id = \${booking} or j.other_unit_id is not null)`,
      why: 'It only looks at more units: the entries are those of the booking in any case.',
    },
  ],
  'src/postgres/stores/postgres-rate-rows.ts': [
    {
      before: "if (row === undefined) throw new Error('Cannot begin to count requests: no answer')",
      after: 'if (row === undefined) {}',
      why: 'A statement that returns a value returns a row.',
    },
  ],
  'src/postgres/stores/postgres-sender-store.ts': [
    {
      before: "if (row === undefined) throw new Error('Cannot take over sending: no answer')",
      after: 'if (row === undefined) {}',
      why: 'A call of a function returns a row.',
    },
  ],
  'src/events/webhooks/webhook-sender.ts': [
    {
      before: 'if (room > 0) {',
      after: 'if (room > 1) {',
      why: 'One of 4,096 places stays free.',
    },
    {
      before: 'if (room > 0) {',
      after: 'if (room >= 0) {',
      why: 'A claim with room for none returns none.',
    },
    {
      before: "if (settled.length > 0 && this.#state !== 'ended') this.#recorder.add(settled)",
      after: "if (settled.length >= 0 && this.#state !== 'ended') this.#recorder.add(settled)",
      why: 'The recorder writes nothing while nothing waits.',
    },
  ],
}

export function isEquivalent(file: string, { before, after }: { before: string; after: string }): boolean {
  return EQUIVALENT[file]?.some((known) => known.before === before && known.after === after) === true
}
