/** What is counted of requests is written for every agency of a process, whatever comes late of one that has left it. */
import { expect, test } from 'bun:test'
import type { UsageDraft } from '../../src/accounts/usage-meter.ts'
import { openCounters } from '../../src/app/ledger-counters.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { FENCED_SQLSTATE } from '../../src/postgres/client/database-error.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { AGENCY, sampleId, sampleKey } from '../support/samples.ts'

const OTHER = sampleId('agc', 'other')

/** Counters of a process that owns two agencies, over what the fences of `keep_usage` let through. */
function openHere() {
  const clock = new FakeClock(Date.UTC(2027, 0, 15))
  const owned = new Set([AGENCY.id, OTHER])
  const stored: UsageDraft[] = []
  const { key, secret } = sampleKey()
  const plan = { ...AGENCY.plan, requestsPerMinute: 60, requestsPerMonth: 1_000 }
  const holder = { key, agency: { ...AGENCY, plan }, counters: null }
  const { usage, access } = openCounters({
    clock,
    stores: {
      usageRows: {
        keep: async (_: unknown, totals: readonly UsageDraft[]) => {
          if (totals.some(({ agencyId }) => !owned.has(agencyId)))
            throw Object.assign(new Error('fenced'), { code: FENCED_SQLSTATE, severity: 'ERROR' })
          stored.push(...totals)
        },
      },
    },
    catalogue: { keys: { holderByHash: () => holder } },
    watch: { onCountersNotWritten: () => {} },
    ownership: { findLost: async () => {} },
    writing: () => ({
      journal: { epochOf: () => 1, isOwned: (shard: number) => [...owned].some((id) => shardOf(id) === shard) },
    }),
  } as unknown as Parameters<typeof openCounters>[0])
  const leave = () => {
    owned.delete(AGENCY.id)
    usage.forget((agencyId) => agencyId === AGENCY.id)
  }
  const storedOf = (agencyId: string) =>
    Math.max(0, ...stored.filter((each) => each.agencyId === agencyId).map(({ used }) => used))
  return { clock, usage, access, secret, leave, storedOf }
}

test.each([
  ['in the month in which it was admitted', 0],
  ['in the next month', 31 * 86_400_000],
])('a request that costs more once its agency has left, %s, does not stop the counts of others', async (_, laterMs) => {
  const { clock, usage, access, secret, leave, storedOf } = openHere()
  const admission = access.admit(`Bearer ${secret}`)
  await usage.flush()
  expect(storedOf(AGENCY.id)).toBe(1)
  leave()
  await clock.advance(laterMs)
  if (admission === null) throw new Error('Expected to be admitted')
  for (let i = 0; i < 3; i++) {
    access.charge(admission, 9)
    for (let j = 0; j < 100; j++) usage.take(OTHER, 1_000)
    await clock.advance(2_000)
    expect(storedOf(OTHER)).toBe(100 * (i + 1))
  }
  expect(storedOf(AGENCY.id)).toBe(1)
})
