/** ERASURES_FILE: every erasure as a line of JSON, outside the database, so that none is lost when an older backup is restored. */
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { erasureLine, type ListedErasure } from '../postgres/stores/listed-erasures.ts'
import { ConfigError } from './config.ts'

/**
 * @returns what appends to the file; it settles when the line is on the disk
 * @throws ConfigError when the file cannot be written
 */
export async function openErasuresFile(path: string): Promise<(erasure: ListedErasure) => Promise<void>> {
  try {
    await append(path, '')
    // The name of a new file is in its folder.
    const folder = await open(dirname(path), 'r')
    await folder.sync().finally(() => folder.close())
  } catch (error) {
    throw new ConfigError([
      `ERASURES_FILE cannot be written (${(error as Error).message}): use a file in a folder of the service.`,
    ])
  }
  return (erasure) => append(path, erasureLine(erasure))
}

/** Opened each time: the file may be moved away with a backup. */
async function append(path: string, text: string): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.appendFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
