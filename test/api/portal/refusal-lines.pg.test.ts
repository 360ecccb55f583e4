/** What refused writes may leave in the audit trail, which is kept for good (src/accounts/token-rate-limit.ts). */
import { expect, test } from 'bun:test'
import { REFUSAL_LINES_PER_MEMBER_MAX } from '../../../src/accounts/token-rate-limit.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService({ requestsPerMinute: 1_000 })

test('the first refused writes of a token and minute have lines of their own, the rest one line with their number', async () => {
  const agency = await service.agency()
  const [busy, calm] = [await service.accessToken(agency, 'viewer'), await service.accessToken(agency, 'viewer')]
  const refused = (token: string) => service.ask(`/agencies/${agency.slug}/keys`, {}, { token })
  const over = 25
  for (let n = 0; n < REFUSAL_LINES_PER_MEMBER_MAX + over; n++) expect((await refused(busy.secret)).status).toBe(403)
  await refused(calm.secret)
  await service.ledger.refusals.flush()

  const linesOf = async (tokenId: string): Promise<{ count: number; outcome: string; route: string }[]> =>
    (await service.get(`/agencies/${agency.slug}/audit?token=${tokenId}&pageSize=200`)).body.audit
  const lines = await linesOf(busy.token.id)
  const counted = lines.filter(({ count }) => count > 1)
  // Two when a minute of the wall clock has ended meanwhile.
  expect(counted.length).toBeWithin(1, 3)
  expect(counted.reduce((sum, { count }) => sum + count, 0) + lines.length - counted.length).toBe(
    REFUSAL_LINES_PER_MEMBER_MAX + over,
  )
  expect(lines.length).toBeLessThanOrEqual(REFUSAL_LINES_PER_MEMBER_MAX + 2)
  expect(new Set(lines.map(({ outcome }) => outcome))).toEqual(new Set(['ROLE_MISSING']))
  expect(await linesOf(calm.token.id)).toMatchObject([{ count: 1, outcome: 'ROLE_MISSING' }])
})
