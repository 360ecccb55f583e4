/** `audit export` and `audit verify`: a history that anyone can check without the service. */
import { afterAll, describe, expect, test } from 'bun:test'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CheckpointSigner } from '../../src/events/checkpoints/checkpoint-note.ts'
import { makeCheckpoints } from '../support/checkpoints.ts'
import { cliWith } from '../support/cli-terminal.ts'
import { openTestLedger } from '../support/ledger.ts'
import { TEST_SECRET_KEY } from '../support/service-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder('audit')

const source = await openTestLedger()
const cli = cliWith({ DATABASE_URL: source.database.url, SECRET_KEY: TEST_SECRET_KEY })
const agency = await source.agency({ slug: 'harbour' })
const other = await source.agency()
const [unit, foreign] = [await source.unit(agency), await source.unit(other)]
for (let day = 1; day <= 7; day++) {
  await source.book(agency, unit, `2030-01-0${day}`, `2030-01-0${day + 1}`)
  await source.book(other, foreign, `2030-01-0${day}`, `2030-01-0${day + 1}`)
}
await makeCheckpoints(source.database.sql)
// Three days, of three, three and two entries.
await source.database.sql`
  update journal j set at = timestamptz '2026-03-01 12:00Z' + (n.place / 3) * interval '1 day' from (
    select seq, row_number() over (order by seq)::int - 1 as place from journal where agency_id = (select agency_id from agency where slug = 'harbour')) n
  where j.seq = n.seq and j.agency_id = (select agency_id from agency where slug = 'harbour')`
await source.database.sql`delete from checkpoint`
await makeCheckpoints(source.database.sql)
afterAll(() => source.close())

const exported = async (name: string, ...args: string[]) => {
  const out = join(folder, name)
  expect((await cli('audit', 'export', '--agency', 'harbour', '--out', out, ...args)).code).toBe(0)
  return out
}

describe('an exported history', () => {
  test.each([
    ['whole', [], '8 entries, 1 to 8 of 8'],
    ['from a day on', ['--from', '2026-03-02'], '5 entries, 4 to 8 of 8'],
    ['up to a day', ['--to', '2026-03-02'], '6 entries, 1 to 6 of 8'],
    ['of one day', ['--from', '2026-03-02', '--to', '2026-03-02'], '3 entries, 4 to 6 of 8'],
  ])('%s is verified without the service, and says which entries it has', async (name, args, says) => {
    const { code, stdout } = await cli('audit', 'verify', await exported(name, ...args))
    expect([code, stdout]).toEqual([0, expect.stringContaining(says)])
    expect(stdout).toContain(agency.id)
  })

  test('is verified with the key that one has kept, and not with another one', async () => {
    const out = await exported('keys')
    const [vkey = ''] = readFileSync(join(out, 'checkpoint-keys'), 'utf8').split('\n')
    // Without one, the output says that the folder vouches for itself.
    expect((await cli('audit', 'verify', out)).stdout).toContain(vkey)
    const known = await cli('audit', 'verify', out, '--key', vkey)
    expect([known.code, known.stdout.includes(vkey)]).toEqual([0, false])
    const { vkey: another } = new CheckpointSigner(new Uint8Array(32))
    const refused = await cli('audit', 'verify', out, '--key', another)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('not signed by this key')])
  })

  const change = (name: string, how: (text: string) => string) => (out: string) => {
    const file = join(out, name)
    writeFileSync(file, how(readFileSync(file, 'utf8')))
  }
  const lines = (how: (lines: string[]) => string[]) =>
    change('entries.ndjson', (text) => `${how(text.trimEnd().split('\n')).join('\n')}\n`)
  test.each([
    [
      'an entry was changed',
      lines((all) =>
        all.with(1, (all[1] ?? '').replace('"isAnnounced"', '"x"').replace('booking_created', 'booking_changed')),
      ),
      'not those of the checkpoint',
    ],
    ['an entry was removed', lines((all) => all.slice(1)), 'has 2 entries'],
    ['an entry was repeated', lines((all) => [...all, ...all.slice(-1)]), 'has 4 entries'],
    [
      'two entries changed places',
      lines((all) => [...all.slice(1), ...all.slice(0, 1)]),
      'not those of the checkpoint',
    ],
    [
      'an entry is of another agency',
      lines((all) => all.with(0, (all[0] ?? '').replace(agencyIdIn, 'agc_x'))),
      'is not an entry of',
    ],
    ['the size was changed', change('checkpoint', (text) => text.replace('\n8\n', '\n9\n')), 'not signed by'],
    [
      'the proof was changed',
      change('proof.json', (text) => text.replace('"firstLeaf": 3', '"firstLeaf": 4')),
      'hashes for the entries',
    ],
    ['the proof is none', change('proof.json', () => '{"left": []}'), 'Cannot read'],
  ])('in which %s is refused', async (name, inflict, says) => {
    const out = join(folder, `bad ${name}`)
    cpSync(await exported('good', '--from', '2026-03-02', '--to', '2026-03-02'), out, { recursive: true })
    inflict(out)
    const { code, stderr } = await cli('audit', 'verify', out)
    expect([code, stderr]).toEqual([1, expect.stringContaining(says)])
  })
})

const agencyIdIn = /agc_[0-9a-f]{32}/

test.each([
  [['--agency', 'nobody'], 1, 'there is no agency nobody'],
  [['--agency', 'harbour', '--from', '2027-01-01'], 1, 'no entry of these days'],
  [['--agency', 'harbour', '--from', 'May'], 2, '--from must be a date'],
])('an export that cannot be made says why: %p', async (args, code, says) => {
  const run = await cli('audit', 'export', '--out', join(folder, 'none'), ...args)
  expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(says)])
})
