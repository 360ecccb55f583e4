import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { functionBodies } from '../../mutate/sql-mutations.ts'

const ROOT = `${import.meta.dir}/../../..`
const STORES = `${ROOT}/src/postgres/stores`

/**
 * Every statement of src/postgres/stores that changes something, and what keeps a writer that was fenced out from running it
 * (J5). A statement that is not here fails the test: state how it is fenced, or why it need not be.
 *
 * - `audited`: a part of an `auditedWrite`, which checks the fence and writes the line of the audit trail.
 * - `checked`: calls `check_fence` or `check_fences` itself.
 * - `function`: the function in sql/ checks the fence.
 * - `sender`: the function in sql/ checks the term of the webhook sender, which is the fence of deliveries, or that of a node's sender.
 */
const WRITES: Record<string, string> = {
  'append-batch.ts: append_batch()': 'function',
  'audited-write.ts: insert into audit_line': 'checked',
  'audited-write.ts: keep_answer()': 'checked',
  'listed-erasures.ts: repeat_erasures()': 'function',
  'month-tables.ts: insert into snapshot': 'a snapshot is derived, and checked when it is read',
  'month-tables.ts: retire_month()': 'locks all fences, and leaves the epochs as they are',
  'pending-deliveries.ts: update webhook_delivery': 'checked',
  'postgres-agency-store.ts: inserted ACCESS_TOKEN': 'audited',
  'postgres-agency-store.ts: inserted AGENCY': 'audited',
  'postgres-agency-store.ts: inserted API_KEY': 'audited',
  'postgres-agency-store.ts: inserted FEE_TYPE': 'audited',
  'postgres-agency-store.ts: update access_token': 'audited',
  'postgres-agency-store.ts: update agency': 'audited',
  'postgres-agency-store.ts: update api_key': 'audited',
  'postgres-agency-store.ts: update fee_type': 'audited',
  'postgres-agency-store.ts: update booking': 'audited',
  'postgres-agency-store.ts: update guest': 'audited',
  'postgres-calendar-feed-rows.ts: insert into calendar_feed': 'audited',
  'postgres-chain-keys.ts: insert into shard_chain': 'before the take-over, and only if there is none',
  'postgres-checkpoint-rows.ts: insert into checkpoint_key':
    'a key that is listed harms nobody, whichever process is the writer',
  'postgres-checkpoint-rows.ts: keep_checkpoints()':
    'only adds leaves of entries that are in the log, which are the same from every process (M2)',
  'postgres-endpoint-rows.ts: delete_webhook_endpoint()': 'function',
  'postgres-endpoint-rows.ts: insert into webhook_attempt': 'audited',
  'postgres-endpoint-rows.ts: insert into webhook_delivery': 'audited',
  'postgres-endpoint-rows.ts: register_endpoint()': 'function',
  'postgres-endpoint-rows.ts: update webhook_delivery': 'audited',
  'postgres-endpoint-rows.ts: update webhook_endpoint': 'audited',
  'postgres-erasure-rows.ts: begin_erasure_if_due()': 'checked',
  'postgres-erasure-rows.ts: erase_bookings()': 'checked',
  'postgres-erasure-rows.ts: scrub_answers()': 'checked',
  'postgres-erasure-rows.ts: update guest_erasure': 'checked',
  'postgres-idempotency-rows.ts: delete from idempotency': 'expired answers may be deleted by any process',
  'postgres-journal-store.ts: delete from snapshot': 'a snapshot is derived and checked when it is read; any may go',
  'postgres-journal-store.ts: insert into snapshot': 'a snapshot is derived, and checked when it is read',
  'postgres-journal-store.ts: take_over()': 'function',
  'append-batch.ts: renew_epochs()': 'function',
  'postgres-months.ts: ensure_months()': 'any process may create partitions; it waits for others that do',
  'postgres-person-rows.ts: delete from passkey': 'audited',
  'postgres-person-rows.ts: delete from person_link':
    'audited; or a link that has expired, which opens nothing whichever process deletes it',
  'postgres-person-rows.ts: delete from portal_session': 'audited',
  'postgres-person-rows.ts: inserted PASSKEY': 'audited',
  'postgres-person-rows.ts: inserted PERSON': 'audited',
  'postgres-person-rows.ts: inserted PERSON_LINK':
    'audited; or a link that signs in, of which nothing is in memory: any node may make one',
  'postgres-person-rows.ts: update passkey': 'audited',
  'postgres-person-rows.ts: update person': 'audited',
  'postgres-rate-rows.ts: keep_node_rate()': 'the counts of this node alone, under its own term',
  'postgres-rate-rows.ts: keep_rate()': 'function',
  'postgres-refusal-rows.ts: keep_refusals()':
    'counts what this process has refused, true whichever process is the writer',
  'postgres-retention-rows.ts: delete from booking': 'checked',
  'postgres-retention-rows.ts: forget_deliveries()':
    'removes what is due by the month, whichever process does it; it waits for others that do',
  'postgres-retention-rows.ts: insert into agency_retention': 'audited',
  'postgres-retention-rows.ts: insert into audit_line': 'checked',
  'postgres-sandbox-clocks.ts: update agency': 'checked',
  'postgres-sandbox-rows.ts: end_sandbox()': 'function',
  'postgres-sender-store.ts: claim_deliveries()': 'sender',
  'postgres-sender-store.ts: join_sending()':
    'gives the sender a tenure of its own; what it sends for is fenced by send_for()',
  'postgres-sender-store.ts: make_deliveries()': 'sender',
  'postgres-sender-store.ts: record_attempts()': 'sender',
  'postgres-sender-store.ts: send_for()': 'sender',
  'postgres-sender-store.ts: take_over_sending()': 'function',
  'postgres-sender-store.ts: update webhook_delivery': 'releases the claims of its own term, and no others',
  'postgres-session-rows.ts: insert into portal_session': 'checked',
  'postgres-session-rows.ts: keep_node_sessions()':
    'a session that was used only becomes newer; one that has ended stays so whoever deletes it',
  'postgres-session-rows.ts: keep_sessions()': 'function',
  'postgres-shards.ts: give_up_shards()': 'only shards that are still of this writer',
  'postgres-shards.ts: lost_shards()': 'the heartbeat of this process alone',
  'postgres-shards.ts: take_shards()': 'function',
  'postgres-usage-rows.ts: keep_key_uses()': 'in the statement of keep_usage(), which checks the fences',
  'postgres-usage-rows.ts: keep_usage()': 'function',
  'postgres-writers.ts: delete from writer': 'the row of this process alone',
  'postgres-writers.ts: take_over()': 'function',
  'postgres-writers.ts: update writer': 'the row of this process alone; a take-over deletes it',
  'resend-since.ts: update webhook_delivery': 'a part of the audited write in postgres-endpoint-rows.ts',
  'sealed-secrets.ts: rotate_secret_key()': 'function',
  'stored-key-check.ts: insert into secret_key_check': 'before the take-over, and only if there is none',
  'vacuum-erased.ts: update guest_erasure': 'says only that dead rows are gone, true whichever process is the writer',
  'table.ts: insert into ${name}': 'a part of a statement: see `inserted`',
}

/** The changing functions of sql/, and those that call one, each with its body: the last one, if a later file replaces it. */
async function changingFunctions(): Promise<Map<string, string>> {
  const bodies = new Map<string, string>()
  for (const file of [...new Glob('sql/*.sql').scanSync(ROOT)].sort()) {
    const text = await Bun.file(`${ROOT}/${file}`).text()
    for (const { name, start, end } of functionBodies(text)) bodies.set(name, text.slice(start, end))
  }
  const changes = (body: string) => /\b(insert into|update|delete from) /.test(body)
  const changing = new Set([...bodies].filter(([, body]) => changes(body)).map(([name]) => name))
  for (let size = -1; size !== changing.size; ) {
    size = changing.size
    for (const [name, body] of bodies)
      if ([...changing].some((called) => body.includes(`perform ${called}(`))) changing.add(name)
  }
  return new Map([...bodies].filter(([name]) => changing.has(name)))
}

const CHANGE =
  /\b(insert into|update|delete from) ((?!set\b)(?:\$\{name\}|[a-z_]+))(?= ?\(| (?:[a-z]+ )?set\b|(?: [a-z]+)?\s+where| old\b)/g
const INSERTED = /\binserted\([^,()]+, (\w+)/g

async function sources(): Promise<{ file: string; code: string }[]> {
  const files = [...new Glob('*.ts').scanSync(STORES)].sort()
  return Promise.all(
    files.map(async (file) => ({
      file,
      code: (await Bun.file(`${STORES}/${file}`).text()).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''),
    })),
  )
}

describe('every changing statement of the stores', async () => {
  const functions = await changingFunctions()
  const files = await sources()
  const codeOf = (write: string) => files.find(({ file }) => write.startsWith(`${file}:`))?.code ?? ''

  test('is fenced, or says why it need not be', () => {
    const found = files.flatMap(({ file, code }) => [
      ...[...code.matchAll(CHANGE)].map(([, what, name]) => `${file}: ${what} ${name}`),
      ...[...code.matchAll(INSERTED)].map(([, name]) => `${file}: inserted ${name}`),
      ...[...functions.keys()].filter((name) => code.includes(`${name}(`)).map((name) => `${file}: ${name}()`),
    ])
    expect([...new Set(found)].sort()).toEqual(Object.keys(WRITES).sort())
  })

  for (const [write, how] of Object.entries(WRITES)) {
    if (how === 'checked') test(`${write}, with check_fence`, () => expect(codeOf(write)).toMatch(/check_fences?\(/))
    if (how === 'audited')
      test(`${write}, as a part of an audited write`, () => {
        expect(codeOf(write)).toContain('auditedWrite')
        expect(codeOf(write)).not.toMatch(/await\s+(this\.#)?sql\b[^`;]*`\s*(insert into|update|delete from)/)
      })
    if (how === 'function' || how === 'sender')
      test(`${write}, in sql/`, () => {
        const fence =
          how === 'sender'
            ? /\bwebhook_sender\b|\bsent_shards\(|\bfrom sending_node n where n.tenure = claiming\b/
            : /\bcheck_fences?\(|\bend_of_log\(|\bfrom shard s order by\b|\bfrom shard s where s.shard = any\b/
        expect(functions.get(write.replace(/.*: |\(\)/g, ''))).toMatch(fence)
      })
  }
})
