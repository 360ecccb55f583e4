/**
 * Checkpoints and proofs of a real ledger, checked by the transparency-log packages of the Go project (`sumdb/note`, `sumdb/tlog`), with
 * which nightledger shares no code. Skipped where Go or its package is not installed (Debian: golang-golang-x-mod-dev).
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { coveredText, shardOf } from '../../../src/core/journal/shard.ts'
import { CheckpointSigner } from '../../../src/events/checkpoints/checkpoint-note.ts'
import { Checkpoints } from '../../../src/events/checkpoints/checkpoints.ts'
import type { Hash } from '../../../src/events/checkpoints/merkle-tree.ts'
import { PostgresCheckpointRows } from '../../../src/postgres/stores/postgres-checkpoint-rows.ts'
import { PostgresVerifyStore } from '../../../src/postgres/stores/postgres-verify-store.ts'
import { makeCheckpoints } from '../../support/checkpoints.ts'
import { openTestLedger, type TestLedger } from '../../support/ledger.ts'

const DEBIAN_PACKAGES = '/usr/share/gocode'
const isInstalled =
  Bun.which('go') !== null && existsSync(join(DEBIAN_PACKAGES, 'src/golang.org/x/mod/sumdb/tlog/tlog.go'))
/** Entries, of the unit and of its bookings; a checkpoint after each. Neither a power of two nor one more or less. */
const SIZE = 21
const SIGNER = new CheckpointSigner(new Uint8Array(32))

describe.skipIf(!isInstalled)("Go's transparency log", () => {
  const folder = mkdtempSync(join(tmpdir(), 'go-tlog-'))
  const program = join(folder, 'check')
  let source: TestLedger
  let agency: Agency
  let document: ReturnType<typeof proofs> extends Promise<infer Document> ? Document : never

  beforeAll(async () => {
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: DEBIAN_PACKAGES }
    const build = Bun.spawnSync(['go', 'build', '-o', program, 'test/events/checkpoints/go-tlog/main.go'], { env })
    expect(build.stderr.toString()).toBe('')
    source = await openTestLedger()
    agency = await source.agency()
    document = await proofs()
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await source.close()
  })

  /** All that partners can ask for: every checkpoint, the proof between every two, and the entries of every booking in the newest. */
  async function proofs() {
    const { sql } = source.database
    const read = new Checkpoints({
      rows: new PostgresCheckpointRows(sql),
      inTurn: (_, ask) => ask(),
      historyId: crypto.randomUUID(),
      signer: SIGNER,
    })
    const checkpoints = [await read.latest(agency.id)]
    const unit = await source.unit(agency)
    const bookings: string[] = []
    const at = (index: number) => new Date(Date.UTC(2030, 0, 1 + index)).toISOString().slice(0, 10)
    for (let size = 1; size <= SIZE; size++) {
      await makeCheckpoints(sql)
      checkpoints.push(await read.latest(agency.id))
      if (size < SIZE) bookings.push((await source.book(agency, unit, at(size), at(size + 1))).id)
    }
    const log = await new PostgresVerifyStore(sql).log(shardOf(agency.id), {
      after: null,
      until: Number.MAX_SAFE_INTEGER,
      limit: 1_000,
    })
    const consistency: { from: number; to: number; hashes: string[] }[] = []
    for (let to = 1; to <= SIZE; to++)
      for (let from = 1; from <= to; from++) {
        const proof = await read.consistency(agency.id, { from, to })
        consistency.push({ from, to, hashes: proof.kind === 'proved' ? base64(proof.hashes) : [] })
      }
    const inclusion: { size: number; index: number; hashes: string[] }[] = []
    for (const bookingId of bookings)
      for (const { index, hashes } of (await read.ofBooking(agency.id, bookingId)).entries)
        inclusion.push({ size: SIZE, index, hashes: base64(hashes) })
    const entries = log.filter(({ agencyId }) => agencyId === agency.id).map(coveredText)
    return { key: SIGNER.vkey, checkpoints, entries, consistency, inclusion }
  }

  const base64 = (hashes: readonly Hash[]) => hashes.map((hash) => Buffer.from(hash).toString('base64'))

  function check(given: typeof document) {
    const { exitCode, stdout, stderr } = Bun.spawnSync([program], { stdin: Buffer.from(JSON.stringify(given)) })
    return [exitCode, `${stdout}${stderr}`.trim()]
  }

  test('computes the same roots, verifies the signatures, and accepts every proof', () => {
    const pairs = (SIZE * (SIZE + 1)) / 2
    expect(check(document)).toEqual([
      0,
      `${SIZE + 1} checkpoints, ${pairs} consistency proofs, ${SIZE - 1} inclusion proofs`,
    ])
  })

  test.each([
    ['a signature of another key', { key: new CheckpointSigner(new Uint8Array(32).fill(1)).vkey }, 'signature'],
    ['an entry that was changed', (d: typeof document) => ({ entries: d.entries.with(4, '[]') }), 'tree of'],
    [
      'a proof between other checkpoints',
      (d: typeof document) => ({
        consistency: d.consistency.map((proof) => ({ ...proof, from: (proof.from % proof.to) + 1 })),
      }),
      'consistency of',
    ],
    [
      'the proof of another entry',
      (d: typeof document) => ({
        inclusion: d.inclusion.map((proof) => ({ ...proof, index: proof.index - 1 })),
      }),
      'entry 0 in',
    ],
  ])('refuses %s', (_, change, says) => {
    const changed = { ...document, ...(typeof change === 'function' ? change(document) : change) }
    expect(check(changed)).toEqual([1, expect.stringContaining(says)])
  })
})
