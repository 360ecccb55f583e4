import { join } from 'node:path'

/** Where other workers reach a worker. */
export function socketOf(folder: string, worker: number): string {
  return join(folder, `${worker}.sock`)
}

/** Where the parent reaches what a worker serves on ADMIN_PORT: the longer one of the two. */
export function adminSocketOf(folder: string, worker: number): string {
  return join(folder, `${worker}.admin.sock`)
}
