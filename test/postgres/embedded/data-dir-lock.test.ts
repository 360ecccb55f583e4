import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identityOf } from '../../../src/lib/process-run.ts'
import { EmbeddedError, lockHolderOf, takeDataDir } from '../../../src/postgres/embedded/data-dir-lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the lock on a data folder', () => {
  test('holds off everyone else, this process included, until it is released', () => {
    const lock = takeDataDir(folder)
    expect(lockHolderOf(folder)?.pid).toBe(process.pid)
    expect(() => takeDataDir(folder)).toThrow(EmbeddedError)
    expect(() => takeDataDir(folder)).toThrow(`process ${process.pid} is using it`)
    lock.release()
    expect(lockHolderOf(folder)).toBeNull()
    expect(readdirSync(folder)).toEqual([])
    takeDataDir(folder).release()
  })

  test.each([
    ['of a process that has ended', JSON.stringify({ pid: 2 ** 22 + 1, startedAt: '1' })],
    ['of an earlier process with a pid that lives again', JSON.stringify({ pid: process.pid, startedAt: 'earlier' })],
    ['that is empty', ''],
    ['that is not ours', '12345\n'],
    ['without a start', JSON.stringify({ pid: process.pid })],
  ])('%s does not block', (_, content) => {
    writeFileSync(join(folder, 'service.lock'), content)
    expect(lockHolderOf(folder)).toBeNull()
    const lock = takeDataDir(folder)
    expect(lockHolderOf(folder)?.pid).toBe(process.pid)
    lock.release()
    expect(readdirSync(folder)).toEqual([])
  })

  test('release does not remove the lock of a successor', () => {
    const lock = takeDataDir(folder)
    const successor = JSON.stringify({ pid: process.pid, startedAt: 'later' })
    writeFileSync(join(folder, 'service.lock'), successor)
    lock.release()
    expect(readdirSync(folder)).toEqual(['service.lock'])
  })

  test('that is stale is left alone while another process removes it, and for no longer than that lives', async () => {
    const other = Bun.spawn(['sleep', '60'])
    writeFileSync(join(folder, 'service.lock'), '')
    writeFileSync(join(folder, 'service.lock.0123456789ab.removing'), JSON.stringify(identityOf(other.pid)))
    const taker = Bun.spawn([process.execPath, '-e', takingScript(folder)], { stdout: 'pipe' })
    await Bun.sleep(500)
    expect(readFileSync(join(folder, 'service.lock'), 'utf8')).toBe('')
    other.kill('SIGKILL')
    await other.exited
    expect(await firstLine(taker.stdout)).toBe('got it')
    expect(readdirSync(folder)).toEqual(['service.lock'])
    taker.kill('SIGKILL')
    await taker.exited
  })

  test('of eight processes that find a stale lock at once, one gets the folder', async () => {
    for (let round = 0; round < 2; round++) {
      writeFileSync(join(folder, 'service.lock'), '')
      const startAt = String(Date.now() + 300)
      const runs = Array.from({ length: 8 }, () =>
        Bun.spawn([process.execPath, '-e', takingScript(folder), startAt], { stdout: 'pipe' }),
      )
      const seen = await Promise.all(runs.map(({ stdout }) => firstLine(stdout)))
      for (const run of runs) run.kill('SIGKILL')
      await Promise.all(runs.map(({ exited }) => exited))
      expect(seen.filter((line) => line === 'got it')).toHaveLength(1)
      expect(seen.filter((line) => line.includes('is using it'))).toHaveLength(7)
    }
  })
})

/** Takes the folder at the time that is its argument, and says so or why not. */
function takingScript(dataDir: string): string {
  return `import { takeDataDir } from ${JSON.stringify(join(import.meta.dir, '../../../src/postgres/embedded/data-dir-lock.ts'))}
    await Bun.sleep(Math.max(0, Number(process.argv[1] ?? 0) - Date.now()))
    try { takeDataDir(${JSON.stringify(dataDir)}); console.log('got it') } catch (error) { console.log(error.message) }
    // The process that has it keeps it, however late the others come.
    await Bun.sleep(60_000)`
}

async function firstLine(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let text = ''
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const end = text.indexOf('\n')
    if (end !== -1) return text.slice(0, end)
  }
  return text
}
