/** The history that partners can check: signed checkpoints, and the proofs that go with them (docs/partner-additions.md#14-checkpoints). */
import { describe, expect, test } from 'bun:test'
import { CheckpointSigner, isSignedBy, readCheckpoint } from '../../src/events/checkpoints/checkpoint-note.ts'
import { Checkpoints } from '../../src/events/checkpoints/checkpoints.ts'
import { isIncluded } from '../../src/events/checkpoints/merkle-tree.ts'
import { leafHash } from '../../src/lib/merkle-hash.ts'
import { PostgresCheckpointRows } from '../../src/postgres/stores/postgres-checkpoint-rows.ts'
import { isConsistent, makeCheckpoints } from '../support/checkpoints.ts'
import { send } from '../support/http-call.ts'
import { sharedTestService } from '../support/test-service.ts'

const service = await sharedTestService()
const agency = await service.agency()
const key = (await service.key(agency)).secret
await service.unit(agency, { slug: 'sea-view' })

async function book(arrival: string, departure: string): Promise<string> {
  const answer = await service.asPartner(key, '/bookings', { unit: 'sea-view', arrival, departure })
  expect(answer.status).toBe(201)
  return answer.body.booking.id
}

const note = async (secret = key) => String((await service.asPartner(secret, '/checkpoint')).body)
const keys = async () => {
  const { headers, body } = await send(`${service.url}/.well-known/nightledger-checkpoint-key`)
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
  return String(body).trimEnd().split('\n')
}
const bytes = (hashes: readonly string[]) => hashes.map((hash) => Buffer.from(hash, 'base64'))

async function checkpoint() {
  await makeCheckpoints(service.database.sql)
  const found = readCheckpoint(await note())
  if (found === null) throw new Error('Cannot read a checkpoint')
  return found
}

describe('GET /checkpoint', () => {
  test('is a signed note about this history and this agency, and has the key’s limits as every answer', async () => {
    const { size } = await checkpoint()
    const answer = await service.asPartner(key, '/checkpoint')
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBeGreaterThan(0)
    const [{ id } = {}] = await service.database.sql`select history_id as id from ledger`
    const lines = String(answer.body).split('\n')
    expect(lines).toEqual([
      `nightledger/${id}/${agency.id}`,
      String(size),
      expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      '',
      expect.stringMatching(/^— nightledger-checkpoint [A-Za-z0-9+/]+=*$/),
      '',
    ])
    const [current = ''] = await keys()
    expect(isSignedBy(String(answer.body), current)).toBe(true)
    expect(isSignedBy(String(answer.body).replace(`\n${size}\n`, `\n${size + 1}\n`), current)).toBe(false)
  })

  test('needs a key, but no scope', async () => {
    const { secret } = await service.key(agency, { scopes: [] })
    expect(await note(secret)).toBe(await note())
    expect((await service.call('/checkpoint')).status).toBe(401)
  })

  test('is of the key’s agency: another one has another history, and an agency without entries has an empty one', async () => {
    const other = await service.agency()
    const found = readCheckpoint(await note((await service.key(other)).secret))
    expect(found).toMatchObject({ origin: expect.stringContaining(other.id), size: 0 })
    expect(Buffer.from(found?.root ?? []).toString('hex')).toStartWith('e3b0c44298fc1c14')
  })

  test('lists former keys after SECRET_KEY was rotated, the current one first', async () => {
    const rows = new PostgresCheckpointRows(service.database.sql)
    const [before] = await keys()
    const signer = new CheckpointSigner(new Uint8Array(32).fill(7))
    const next = new Checkpoints({ rows, inTurn: (_, read) => read(), historyId: '', signer })
    await next.listKeys()
    expect(next.keys).toEqual([signer.vkey, before ?? ''])
  })
})

describe('GET /checkpoint/proof', () => {
  const proof = (from: unknown, to: unknown) => service.asPartner(key, `/checkpoint/proof?from=${from}&to=${to}`)

  test('shows that each checkpoint continues every earlier one', async () => {
    const seen = [await checkpoint()]
    for (let month = 1; month <= 4; month++) {
      for (let day = 1; day <= month; day++) await book(`2027-0${month}-0${day}`, `2027-0${month}-0${day + 1}`)
      const later = await checkpoint()
      for (const earlier of seen) {
        const { status, body } = await proof(earlier.size, later.size)
        expect([status, body.from, body.to]).toEqual([200, earlier.size, later.size])
        expect(isConsistent(earlier, later, bytes(body.hashes))).toBe(true)
      }
      seen.push(later)
    }
  })

  test.each([
    ['from after to', 2, 1, 'from must be at most to, 1'],
    ['to beyond the newest checkpoint', 0, 1_000, /^to must be at most \d+, the size of the newest checkpoint$/],
    ['no number', 'x', 1, /^from must be an integer/],
    ['a negative one', -1, 1, /^from must be an integer/],
  ])('%s is 400, and its title says what would pass', async (_, from, to, title) => {
    const { status, body } = await proof(from, to)
    expect([status, body.code]).toEqual([400, 'VALIDATION'])
    expect(body.title).toMatch(title)
  })
})

describe('GET /bookings/{id}/proof', () => {
  test('shows each entry of the booking, without personal data, and that it is part of the newest checkpoint', async () => {
    const id = await book('2027-06-01', '2027-06-05')
    await service.asPartner(key, `/bookings/${id}/cancel`, { reason: 'ill' })
    await checkpoint()
    const { status, body } = await service.asPartner(key, `/bookings/${id}/proof`)
    expect(status).toBe(200)
    const tree = readCheckpoint(body.checkpoint)
    const entries = body.entries.map((each: { index: number; entry: string; hashes: string[] }) => {
      const entry = Buffer.from(each.entry, 'base64')
      const leaf = { index: each.index, hash: leafHash(entry.toString()) }
      expect(tree !== null && isIncluded(leaf, tree, bytes(each.hashes))).toBe(true)
      return JSON.parse(entry.toString())
    })
    expect(entries.map((entry: unknown[]) => [entry[7], entry[9]])).toEqual([
      [id, 'booking_created'],
      [id, 'booking_cancelled'],
    ])
    expect(JSON.stringify(entries)).not.toContain('ill')
  })

  test('needs read:bookings', async () => {
    const { secret } = await service.key(agency, { scopes: ['read:units'] })
    const { status, body } = await service.asPartner(secret, '/bookings/bkg_1/proof')
    expect([status, body.code, body.scope]).toEqual([403, 'SCOPE_MISSING', 'read:bookings'])
  })
})
