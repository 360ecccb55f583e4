import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { connect } from '../../src/postgres/client/connect.ts'
import { findCluster } from '../../src/postgres/embedded/cluster.ts'
import { lockHolderOf } from '../../src/postgres/embedded/data-dir-lock.ts'
import { type EmbeddedServer, startEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { endPostmaster, readPostmaster } from '../../src/postgres/embedded/postmaster.ts'
import { migrateForService, TEMPLATE_DATABASE } from './postgres.ts'

/**
 * `url`: the server's maintenance database. `templateFailure`: why there is no migrated template, null when there is one;
 * tests that need none can still run. `stop` ends the server and removes its folder.
 */
export type TestServer = { url: string; templateFailure: Error | null; stop(): Promise<void> }

/** Several files run side by side, each with several services. */
const CONNECTIONS_MAX = 400
const FOLDER_PREFIX = 'nightledger-test-'

const MEMORY = '/dev/shm'
/** What the server of a whole run needs at most, log included. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30

/**
 * In memory where there is room: what a power failure leaves is the subject of no test, and waiting for the disk, thousands of times, took a
 * good part of a run. The service insists on fsync, which costs nothing there.
 */
function parentFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize > MEMORY_BYTES_MIN && freemem() > 2 * MEMORY_BYTES_MIN) return MEMORY
  } catch {
    // Not on this system.
  }
  return tmpdir()
}

/** A server of its own in a temporary folder, with a migrated database to copy test databases from. */
export async function startTestServer(onStep: (step: string) => void): Promise<TestServer> {
  await removeLeftOvers()
  const folder = mkdtempSync(join(parentFolder(), FOLDER_PREFIX))
  let server: EmbeddedServer | undefined
  const stop = async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    server = await startEmbedded({ dataDir: folder, onStep, connectionsMax: CONNECTIONS_MAX })
    const url = new URL(server.ownerUrl)
    url.pathname = '/postgres'
    return { url: url.href, templateFailure: await makeTemplate(url), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @returns why the migrations could not be applied, null when they were */
async function makeTemplate(server: URL): Promise<Error | null> {
  const draft = `${TEMPLATE_DATABASE}_draft`
  const admin = connect(server.href, { purpose: 'admin' })
  const url = new URL(server)
  url.pathname = `/${draft}`
  const sql = connect(url.href, { purpose: 'admin' })
  try {
    await admin.unsafe(`create database ${draft}`)
    await migrateForService(sql)
    // Only a database that nobody is connected to can be renamed, or copied.
    await sql.end()
    await admin.unsafe(`alter database ${draft} rename to ${TEMPLATE_DATABASE}`)
    return null
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    await sql.end({ timeout: 0 })
    await admin.end({ timeout: 0 })
  }
}

/** Longer than any test: what is older and not locked belongs to nobody. */
const LEFT_OVER_AFTER_MS = 3_600_000

/**
 * Ends and removes what test runs left that were killed before they could. A folder that is not locked may belong to a test that is
 * between two servers, so only old ones are removed.
 */
async function removeLeftOvers(): Promise<void> {
  const parents = new Set([tmpdir(), parentFolder()])
  const folders = [...parents].flatMap((parent) => readdirSync(parent).map((name) => join(parent, name)))
  for (const folder of folders.filter((folder) => basename(folder).startsWith(FOLDER_PREFIX))) {
    try {
      if (lockHolderOf(folder) !== null || Date.now() - statSync(folder).mtimeMs < LEFT_OVER_AFTER_MS) continue
      const cluster = findCluster(folder)
      const left = cluster === null ? null : readPostmaster(cluster)
      if (cluster !== null && left !== null) await endPostmaster(left.pid, cluster, { graceMs: 1_000 })
      if (cluster !== null) rmSync(folder, { recursive: true, force: true })
    } catch {
      // Another user's, or being removed by another run.
    }
  }
}
