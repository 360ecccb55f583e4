/** Both clients against the faults of a real sandbox: each refusal is its class, and what was booked without an answer is settled. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Nightledger } from '../../clients/typescript/src/index.ts'
import { sharedTestService } from '../support/test-service.ts'
import { PYTHON_MISSING } from './support/driver-process.ts'

const FAULTS: readonly (readonly [fault: string, shown: string])[] = [
  ['booking_conflict', 'BookingConflictError'],
  ['turnover_block_conflict', 'TurnoverBlockConflictError'],
  ['expected_extension_conflict', 'ExpectedExtensionConflictError'],
  ['min_stay', 'MinStayError'],
  ['restricted', 'RestrictedError'],
  ['quote_changed', 'QuoteChangedError'],
  ['rate_limited', 'RateLimitedError'],
  ['quota_exceeded', 'QuotaExceededError'],
  ['internal', 'InternalError'],
  ['unknown_outcome', 'confirmed'],
  ['disconnect', 'confirmed'],
]
const SCOPES = ['read:availability', 'read:rates', 'read:bookings', 'write:bookings']
const SHOWN = FAULTS.map(([fault, shown]) => `${fault} ${shown}`)

const service = await sharedTestService()

/** A key of the sandbox of a new agency. */
async function sandboxKey(): Promise<string> {
  const live = await service.agency()
  await service.unit(live, { slug: 'sea-view' })
  const made = await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  return (await service.ask(`/agencies/${made.body.agency.slug}/keys`, { name: 'Faults', scopes: SCOPES })).body.secret
}

/** Each fault in a month of its own. */
const stayOf = (i: number) => ({ arrival: `2031-${String(i + 1).padStart(2, '0')}-03`, nights: 3 })

test('TypeScript', async () => {
  const client = new Nightledger({ url: service.url, key: await sandboxKey(), triesMax: 2 })
  const shown: string[] = []
  for (const [i, [fault]] of FAULTS.entries()) {
    const { arrival } = stayOf(i)
    const stay = { unit: 'sea-view', arrival, departure: arrival.replace(/03$/, '06') } as const
    const outcome = await client
      .book({ ...stay, sourceRef: `test:${fault}` } as Parameters<typeof client.book>[0])
      .then(
        ({ status }) => status,
        (error: Error) => error.constructor.name,
      )
    shown.push(`${fault} ${outcome}`)
  }
  expect(shown).toEqual(SHOWN)
  expect((await client.bookings.list({ from: '2031-01-01' }).toArray()).length).toBe(2)
})

const PROGRAM = `
import os, sys
from nightledger import Nightledger
client = Nightledger(os.environ['NIGHTLEDGER_KEY'], os.environ['NIGHTLEDGER_URL'], tries_max=2)
for i, fault in enumerate(sys.argv[1:]):
    try:
        booking = client.book(unit='sea-view', arrival=f'2031-{i + 1:02}-03', departure=f'2031-{i + 1:02}-06', source_ref=f'test:{fault}')
        print(fault, booking['status'])
    except Exception as error:
        print(fault, type(error).__name__)
print(sum(1 for _ in client.bookings.list(from_='2031-01-01')))
`

test.skipIf(PYTHON_MISSING)('Python', async () => {
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONPATH: join(import.meta.dir, '../../clients/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    NIGHTLEDGER_URL: service.url,
    NIGHTLEDGER_KEY: await sandboxKey(),
  }
  const command = ['python3', '-c', PROGRAM, ...FAULTS.map(([fault]) => fault)]
  const child = Bun.spawn(command, { env, stdout: 'pipe', stderr: 'inherit' })
  expect((await new Response(child.stdout).text()).trim().split('\n')).toEqual([...SHOWN, '2'])
})
