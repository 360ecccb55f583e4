import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openErasuresFile } from '../../src/app/erasures-file.ts'
import { listedErasures } from '../../src/cli/erasures.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { erasureLine, type ListedErasure } from '../../src/postgres/stores/listed-erasures.ts'
import { AGENCY, sampleId } from '../support/samples.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-erasures-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const erasureOf = (name: string): ListedErasure => ({ at: 0, agencyId: AGENCY.id, guestId: sampleId('gst', name) })

test('an erasure whose line a crash has cut off anywhere is on the list once it is repeated, with all others', async () => {
  const [first, second] = [erasureOf('first'), erasureOf('second')]
  const whole = Buffer.byteLength(erasureLine(first))
  // All of it but the line end may be there.
  for (let cut = 1; cut < whole; cut++) {
    const path = join(folder, `${cut}.ndjson`)
    const list = await openErasuresFile(path)
    await list(first)
    await list(second)
    truncateSync(path, Buffer.byteLength(erasureLine(first)) + cut)
    await list(second)
    await list(erasureOf('third'))
    const repeated: string[] = []
    const sql = (_: TemplateStringsArray, erased: string) => {
      repeated.push(...JSON.parse(erased).map((each: { guest_id: string }) => each.guest_id))
      return [{ erased: repeated.length }]
    }
    await (await listedErasures(sql as unknown as Sql, { erasures: [path] }))(sql as unknown as Sql)
    const names = ['first', ...(cut === whole - 1 ? ['second'] : []), 'second', 'third']
    expect(repeated.map((id) => id.replaceAll('-', ''))).toEqual(names.map((name) => sampleId('gst', name).slice(4)))
    expect(readFileSync(path, 'utf8')).not.toContain('\n\n')
  }
})
