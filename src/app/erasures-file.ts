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
  const file = await open(path, 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const last = Buffer.from('\n')
    if (size > 0) await file.read(last, 0, 1, size - 1)
    // A crash may have cut the last line off: its erasure is listed again, on a line of its own.
    await file.appendFile(last.toString() === '\n' ? text : `\n${text}`)
    await file.sync()
  } finally {
    await file.close()
  }
}
