/**
 * A1: whatever an agency does, with every role, others are served nearly as fast as without it. A read from memory takes a fraction of a
 * millisecond, and there is one event loop: it may have to wait for what is being written at that moment, which is a slice.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { openShareWindows, type ShareWindows, type Slowdown } from '../support/share-windows.ts'

let database: TestDatabase
let windows: ShareWindows
beforeAll(async () => {
  database = await testDatabase()
  windows = await openShareWindows(database.url)
}, 120_000)
afterAll(async () => {
  await windows.close()
  await database.drop()
})

/** Slices are about a millisecond each; on a busy machine they take several times as long. */
const SLICES_MS = 10

const ROLES = ['partner key', 'MCP', 'viewer', 'desk', 'manager', 'owner', 'calendar address'] as const

for (const role of ROLES)
  test(`while an agency uses its share to the full as ${role}, the p99 of another's reads stays within twice its own, or a few slices of it`, async () => {
    const requests = windows.attacks[role] ?? []
    expect(requests.length).toBeGreaterThan(0)
    const first = await windows.slowdown(requests)
    console.log(`${role}: p99 ${first.calmMs.toFixed(2)} ms alone, ${first.besetMs.toFixed(2)} ms beside it`)
    // One retry, in case the machine was busy.
    const measured = isWithin(first) ? first : await windows.slowdown(requests)
    expect([measured, isWithin(measured)]).toEqual([measured, true])
  }, 120_000)

function isWithin({ calmMs, besetMs }: Slowdown): boolean {
  return besetMs <= Math.max(2 * calmMs, calmMs + SLICES_MS)
}
