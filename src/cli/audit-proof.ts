/**
 * `audit export` and `audit verify`: an agency's history as files that anyone can check without the service. The folder has
 *
 * - `entries.ndjson`: the entries of a range of leaves, a line each, byte for byte what their leaves are the hashes of;
 * - `checkpoint`: a signed checkpoint; `checkpoint-keys`: the public keys;
 * - `proof.json`: what is left and right of the range in the tree of the checkpoint, as hashes of complete subtrees.
 */
import { closeSync, createReadStream, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { CheckpointSigner, isSignedBy, readCheckpoint } from '../events/checkpoints/checkpoint-note.ts'
import { Checkpoints } from '../events/checkpoints/checkpoints.ts'
import { type Hash, isSameHash, nodesOf, TreeEdge } from '../events/checkpoints/merkle-tree.ts'
import { idOf } from '../lib/ids.ts'
import { leafHash } from '../lib/merkle-hash.ts'
import type { Sql } from '../postgres/client/connect.ts'
import { PostgresCheckpointRows } from '../postgres/stores/postgres-checkpoint-rows.ts'
import { databaseUrl, OWNER_NEEDED, onDatabase, secretKeyFor } from './database.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

const ENTRIES = 'entries.ndjson'
const CHECKPOINT = 'checkpoint'
const KEYS = 'checkpoint-keys'
const PROOF = 'proof.json'
const ENTRIES_PER_PAGE = 1_000

/** Base64 of the hashes of `nodesOf`: of the leaves before the range, and of those after it. */
interface RangeProof {
  readonly firstLeaf: number
  readonly entries: number
  readonly left: readonly string[]
  readonly right: readonly string[]
}

interface ExportOptions {
  readonly agency: string
  readonly from?: string
  readonly to?: string
  readonly out: string
}

export function addAuditProof(noun: Command, terminal: Terminal): void {
  noun
    .command('export')
    .summary("write an agency's history into a folder that anyone can check")
    .description(
      'Write the journal entries of an agency, a signed checkpoint and the proof that they are part of it into a folder, which audit verify checks without the ' +
        `service. Entries contain no personal data. It needs SECRET_KEY, which signs the checkpoint. ${OWNER_NEEDED}`,
    )
    .requiredOption('--agency <slug>', 'the agency')
    .option('--from <date>', 'first day, UTC; left out: from the oldest entry that is not archived')
    .option('--to <date>', 'last day, UTC; left out: up to the newest checkpoint')
    .requiredOption('--out <folder>', 'folder for the files')
    .action(async (options: ExportOptions) => {
      const range = { from: dayOf('--from', options.from), to: dayOf('--to', options.to) }
      const url = databaseUrl(terminal, 'Cannot export the history: DATABASE_URL is not set.')
      const { entries, firstLeaf } = await onDatabase(url, async (sql) =>
        exportHistory(sql, await secretKeyFor(sql, terminal, 'Cannot export the history'), { ...options, ...range }),
      )
      terminal.out(`Wrote ${entries} entries, from number ${firstLeaf + 1} of the history on, into ${options.out}\n`)
    })
  noun
    .command('verify')
    .argument('<folder>', 'what audit export has written')
    .summary('check an exported history, without the service')
    .description(
      'Check that the entries in a folder are those that the signed checkpoint is about, none changed, missing or added. Needs neither the service nor the database.',
    )
    .option('--key <vkey>', 'the public key that must have signed it; left out: one of those in the folder')
    .action(async (folder: string, { key }: { key?: string }) => {
      const { origin, size, firstLeaf, entries, vkey } = await verifyHistory(folder, key)
      terminal.out(
        `${entries} entries, ${firstLeaf + 1} to ${firstLeaf + entries} of ${size}, are as the signed checkpoint of ${origin} says.\n`,
      )
      if (key === undefined)
        terminal.out(
          `The key that signed it is in the folder: ${vkey}\nCompare it with one that you have kept, or with /.well-known/nightledger-checkpoint-key of the service.\n`,
        )
    })
}

function dayOf(option: string, day: string | undefined): string | null {
  if (day === undefined) return null
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(Date.parse(day)))
    throw new UsageError(`${option} must be a date, such as 2026-01-31.`)
  return day
}

async function exportHistory(
  sql: Sql,
  secretKey: Uint8Array,
  { agency, from, to, out }: { agency: string; from: string | null; to: string | null; out: string },
): Promise<{ readonly entries: number; readonly firstLeaf: number }> {
  const [found] = await sql<{ id: string; historyId: string }[]>`
    select a.agency_id as "id", l.history_id as "historyId" from agency a cross join ledger l where a.slug = ${agency}`
  if (found === undefined) throw new CliError(`Cannot export the history: there is no agency ${agency}.`)
  const agencyId = idOf('agc', found.id)
  const rows = new PostgresCheckpointRows(sql)
  const signer = new CheckpointSigner(secretKey)
  const checkpoints = new Checkpoints({ rows, inTurn: (_, read) => read(), historyId: found.historyId, signer })
  const note = await checkpoints.latest(agencyId)
  const size = readCheckpoint(note)?.size ?? 0
  const range = await rows.entriesBetween(agencyId, { from, to, size })
  if (range === null)
    throw new CliError(
      'Cannot export the history: no entry of these days is in the newest checkpoint and not archived.',
    )
  const { firstSeq, lastSeq, firstLeaf } = range
  mkdirSync(out, { recursive: true })
  const file = openSync(join(out, ENTRIES), 'w')
  let entries = 0
  try {
    for (let after = firstSeq - 1; after < lastSeq; ) {
      const page = await rows.entries(agencyId, { after, until: lastSeq, limit: ENTRIES_PER_PAGE })
      const last = page.at(-1)
      if (last === undefined) break
      writeSync(file, page.map(({ entry }) => `${entry}\n`).join(''))
      entries += page.length
      after = last.seq
    }
  } finally {
    closeSync(file)
  }
  const hashes = async (begin: number, end: number) =>
    (await rows.hashes(agencyId, nodesOf(begin, end))).map((hash) => Buffer.from(hash).toString('base64'))
  const proof: RangeProof = {
    firstLeaf,
    entries,
    left: await hashes(0, firstLeaf),
    right: await hashes(firstLeaf + entries, size),
  }
  writeFileSync(join(out, PROOF), `${JSON.stringify(proof, null, 2)}\n`)
  writeFileSync(join(out, CHECKPOINT), note)
  await checkpoints.listKeys()
  writeFileSync(join(out, KEYS), checkpoints.keys.map((vkey) => `${vkey}\n`).join(''))
  return { entries, firstLeaf }
}

/** @throws CliError saying what does not agree */
async function verifyHistory(folder: string, key: string | undefined) {
  const note = textIn(folder, CHECKPOINT)
  const checkpoint = readCheckpoint(note)
  if (checkpoint === null) throw new CliError(`Cannot verify: ${join(folder, CHECKPOINT)} is not a checkpoint.`)
  const keys = key === undefined ? textIn(folder, KEYS).trim().split('\n') : [key]
  const vkey = keys.find((listed) => isSignedBy(note, listed))
  if (vkey === undefined)
    throw new CliError(`The checkpoint is not signed by ${key === undefined ? 'a key in the folder' : 'this key'}.`)
  const { firstLeaf, entries, left, right } = proofIn(folder)
  const { origin, size, root } = checkpoint
  const agencyId = origin.split('/').at(-1)
  const tree = new TreeEdge()
  append(tree, left, [0, firstLeaf])
  const lines = createInterface({ input: createReadStream(join(folder, ENTRIES)), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    if (!line.includes(`,"${agencyId}",`))
      throw new CliError(`Line ${tree.size - firstLeaf + 1} of ${ENTRIES} is not an entry of ${agencyId}.`)
    tree.append(leafHash(line))
  }
  if (tree.size !== firstLeaf + entries)
    throw new CliError(`${ENTRIES} has ${tree.size - firstLeaf} entries, and ${PROOF} is about ${entries}.`)
  append(tree, right, [firstLeaf + entries, size])
  if (!isSameHash(tree.root(), root))
    throw new CliError(
      'The entries are not those of the checkpoint: an entry was changed, removed, added or moved, or the proof was.',
    )
  return { origin, size, firstLeaf, entries, vkey }
}

function append(tree: TreeEdge, hashes: readonly string[], [from, to]: readonly [number, number]): void {
  const nodes = nodesOf(from, to)
  if (nodes.length !== hashes.length)
    throw new CliError(
      `${PROOF} has ${hashes.length} hashes for the entries ${from + 1} to ${to}, and not ${nodes.length}.`,
    )
  for (const [index, { level }] of nodes.entries()) tree.append(hashIn(hashes[index]), { level })
}

function hashIn(base64: unknown): Hash {
  const hash = Buffer.from(String(base64), 'base64')
  if (hash.length !== 32) throw new CliError(`${PROOF} has a hash that is not 32 bytes in base64.`)
  return hash
}

function textIn(folder: string, name: string): string {
  try {
    return readFileSync(join(folder, name), 'utf8')
  } catch {
    throw new CliError(`Cannot read ${join(folder, name)}.`)
  }
}

function proofIn(folder: string): RangeProof {
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
  try {
    const proof = JSON.parse(textIn(folder, PROOF)) as RangeProof
    if (isCount(proof.firstLeaf) && isCount(proof.entries) && Array.isArray(proof.left) && Array.isArray(proof.right))
      return proof
  } catch (error) {
    if (error instanceof CliError) throw error
  }
  throw new CliError(`Cannot read ${join(folder, PROOF)}: it is not the proof that audit export writes.`)
}
