import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from '../../support/service-process.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-listen-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function refusalOf(env: Record<string, string>): Promise<string> {
  try {
    const service = await startService({ DATA_DIR: join(folder, 'data'), ...env })
    service.kill('SIGKILL')
    return 'it started'
  } catch (error) {
    return (error as Error).message
  }
}

test('a port that is taken is reported in a sentence, before a database is started or a file is written', async () => {
  const other = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  const refusal = await refusalOf({ PORT: String(other.port) })
  other.stop(true)
  expect(refusal).toContain(`Cannot listen on 127.0.0.1:${other.port}: another program is listening there`)
  expect(refusal).not.toContain(' at ')
  expect(existsSync(join(folder, 'data'))).toBe(false)
})

test('so is an address of another machine', async () => {
  expect(await refusalOf({ HOST: '192.0.2.1' })).toContain('Cannot listen on 192.0.2.1:0: this machine does not have')
})
