/** See docs/contract.md#conventions: every write made with a key is recorded in the audit trail, including refused attempts. */
import { afterEach, expect, test } from 'bun:test'
import { auditTrail } from '../../support/audit-trail.ts'
import { holding } from '../../support/held-lock.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

const ATTEMPTS = 60
const nightOf = (i: number) => new Date(Date.UTC(2030, 0, 1 + i)).toISOString().slice(0, 10)

let service: TestService

afterEach(() => service.close())

/** @param options.units among which the attempts are divided: writes of one unit wait for each other, and not in the journal */
async function attemptAtOnce({
  headers = () => ({}),
  units = 1,
}: {
  headers?: (i: number) => Record<string, string>
  units?: number
} = {}) {
  const agency = await service.agency()
  const { secret } = await service.key(agency)
  for (let n = 0; n < units; n++) await service.unit(agency, { slug: `unit-${n}` })
  // The first write does not end before another one was refused.
  const release = await holding(service.database.url, 'lock table shard in exclusive mode')
  const pending = Array.from({ length: ATTEMPTS }, (_, i) =>
    service.call('/bookings', {
      key: secret,
      json: { unit: `unit-${i % units}`, arrival: nightOf(i), departure: nightOf(i + 1), sourceRef: `r${i}` },
      headers: headers(i),
    }),
  )
  await Promise.race(pending)
  await release()
  const answers = await Promise.all(pending)
  await service.ledger.refusals.flush()
  const trail: Record<string, number> = {}
  for (const { outcome, count, actor_kind, route } of await auditTrail(service.database.sql, agency.id)) {
    if (actor_kind === 'key' && route === 'POST /partner/v1/bookings') trail[outcome] = (trail[outcome] ?? 0) + count
  }
  const refusals = answers.filter(({ status }) => status === 500).map(({ body }) => body.title)
  return { refused: refusals.length, why: [...new Set(refusals)], trail }
}

function total(trail: Record<string, number>): number {
  return Object.values(trail).reduce((sum, count) => sum + count, 0)
}

test('writes refused because the mailbox is full are all in the audit trail', async () => {
  service = await startTestService({ limits: { mailboxMax: 2 } })
  const { refused, why, trail } = await attemptAtOnce()
  expect(why).toEqual(['Nothing was changed: too many writes to this unit are already queued. Try again'])
  expect(trail['INTERNAL']).toBe(refused)
  expect(total(trail)).toBe(ATTEMPTS)
})

test('writes refused because the journal is full are all in the audit trail, with and without an Idempotency-Key', async () => {
  service = await startTestService({ limits: { journalWaitingMax: 1, journalBatchMax: 1 } })
  const { refused, why, trail } = await attemptAtOnce({
    units: 10,
    headers: (i) => (i % 4 < 2 ? {} : { 'idempotency-key': `k-${i}` }),
  })
  expect(why).toEqual(['Nothing was changed: too many writes are already queued. Try again'])
  expect(trail['INTERNAL']).toBe(refused)
  expect(total(trail)).toBe(ATTEMPTS)
})
