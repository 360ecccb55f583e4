import type { PostgresWriters, Writer } from './postgres-writers.ts'

/** A writer that has not beaten for this long is gone, or hangs: five heartbeats. */
export const SILENT_MS = 5_000

/** NODE_IDs of the nodes of a cluster that serve this database, in order. One that hangs is none: it is fenced when it goes on. */
export async function servingNodes(writers: Pick<PostgresWriters, 'list'>): Promise<readonly string[]> {
  return (await writers.list())
    .filter(isServing)
    .flatMap(({ node }) => node ?? [])
    .sort()
}

function isServing({ isReleased, silentMs }: Writer): boolean {
  return !isReleased && silentMs < SILENT_MS
}
