/** See docs/contract.md#conventions: every write made with a key is recorded in the audit trail, including refused attempts. */
import { afterEach, expect, test } from 'bun:test'
import { auditTrail } from '../../support/audit-trail.ts'
import { holding } from '../../support/held-lock.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

const ATTEMPTS = 60
const STAY = { arrival: '2030-01-01', departure: '2030-01-02' }

let service: TestService

afterEach(() => service.close())

async function attemptAtOnce({ headers = () => ({}) }: { headers?: (i: number) => Record<string, string> } = {}) {
  const agency = await service.agency()
  const { secret } = await service.key(agency)
  await service.unit(agency, { slug: 'sea-view' })
  // The first write does not end before another one was refused.
  const release = await holding(service.database.url, 'select from shard for share')
  const pending = Array.from({ length: ATTEMPTS }, (_, i) =>
    service.call('/bookings', {
      key: secret,
      json: { unit: 'sea-view', ...STAY, sourceRef: `r${i}` },
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
  return { refused: answers.filter(({ status }) => status === 500).length, trail }
}

function total(trail: Record<string, number>): number {
  return Object.values(trail).reduce((sum, count) => sum + count, 0)
}

test('writes refused because the mailbox is full are all in the audit trail', async () => {
  service = await startTestService({ limits: { mailboxMax: 2 } })
  const { refused, trail } = await attemptAtOnce()
  expect(refused).toBeGreaterThan(0)
  expect(trail['INTERNAL']).toBe(refused)
  expect(total(trail)).toBe(ATTEMPTS)
})

test('writes refused because the journal is full are all in the audit trail, with and without an Idempotency-Key', async () => {
  service = await startTestService({ limits: { journalWaitingMax: 1, journalBatchMax: 1 } })
  const { refused, trail } = await attemptAtOnce({
    headers: (i) => (i % 2 === 0 ? {} : { 'idempotency-key': `k-${i}` }),
  })
  expect(refused).toBeGreaterThan(0)
  expect(trail['INTERNAL']).toBe(refused)
  expect(total(trail)).toBe(ATTEMPTS)
})
