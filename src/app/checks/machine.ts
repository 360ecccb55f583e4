import { readFileSync, statfsSync } from 'node:fs'
import { isOver, ownRun } from '../../lib/process-run.ts'

/** What the checks ask of the machine that they run on. */
export interface Machine {
  /** Wall clock, milliseconds since 1970. */
  now(): number
  /** As `ownRun`. */
  ownRun(): string | null
  /** As `isOver`. */
  isOver(run: string): boolean
  /** How many files a process may have open; null when that cannot be read. */
  openFilesMax(pid: number): number | null
  /** Of the disk that a file is on; null when there is no such file. */
  disk(path: string): { readonly freeBytes: number; readonly bytes: number } | null
}

export const thisMachine: Machine = {
  now: () => Date.now(),
  ownRun,
  isOver,
  openFilesMax: (pid) => {
    try {
      const [, soft] = /^Max open files +(\w+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? []
      return soft === undefined ? null : soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
    } catch {
      return null
    }
  },
  disk: (path) => {
    try {
      const { bavail, blocks, bsize } = statfsSync(path)
      return { freeBytes: bavail * bsize, bytes: blocks * bsize }
    } catch {
      return null
    }
  },
}
