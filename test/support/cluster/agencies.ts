/** The agencies of the cluster's load: many, so that every node has some. */
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { sha256Hex } from '../../../src/lib/ids.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { makeKey } from '../fixtures.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../open-ledger.ts'
import { migrateForService } from '../postgres.ts'
import { AMPLE_PLAN, sampleId, sampleUnit } from '../samples.ts'

export interface LoadAgency {
  readonly id: string
  readonly slug: string
  /** The secret of its only key. */
  readonly secret: string
  readonly shard: number
}

export function loadAgencies(count: number): readonly LoadAgency[] {
  return Array.from({ length: count }, (_, i) => {
    const [id, number] = [sampleId('agc', `load-${i}`), String(i).padStart(2, '0')]
    return {
      id,
      slug: `load-${number}`,
      secret: `hr_live_${`load${number}`.repeat(7).slice(0, 40).padEnd(40, 'x')}`,
      shard: shardOf(id),
    }
  })
}

export const AGENCIES = loadAgencies(48)
export const UNITS_EACH = 4

if (new Set(AGENCIES.map(({ shard }) => shard)).size < AGENCIES.length / 2 || SHARDS !== 256)
  throw new Error('The agencies of the load share too few shards')

/** Migrates an empty database, and makes them with a key and units each. */
export async function makeLoadAgencies(databaseUrl: string, agencies = AGENCIES): Promise<void> {
  const sql = connect(databaseUrl, { purpose: 'admin' })
  await migrateForService(sql)
  await sql.end({ timeout: 1 })
  const ledger = await openTestDatabaseLedger(databaseUrl)
  const scopes = ['write:bookings', 'read:availability', 'read:bookings', 'read:units'] as const
  await Promise.all(
    agencies.map(async ({ id, slug, secret }, i) => {
      const agency = await addAgency(ledger, { id, slug, name: slug, plan: AMPLE_PLAN })
      for (let unit = 0; unit < UNITS_EACH; unit++)
        await addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', `${i}-${unit}`), slug: `unit-${unit}` }))
      const made = { secret, prefix: secret.slice(0, 12), sha256: sha256Hex(secret) }
      await makeKey(ledger, agency, { id: sampleId('key', `load-${i}`), scopes }, made)
    }),
  )
  await ledger.close()
}
