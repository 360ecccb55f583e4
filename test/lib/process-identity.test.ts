import { describe, expect, test } from 'bun:test'
import { identityOf, isAlive, isSameRun } from '../../src/lib/process-run.ts'
import { eventually } from '../support/eventually.ts'

describe('process identity', () => {
  test('this process lives, and stays the same run', () => {
    const own = identityOf(process.pid)
    expect(own).toEqual(identityOf(process.pid))
    expect(own !== null && isSameRun(own)).toBe(true)
  })

  test('a process that has ended is gone, and its identity with it', async () => {
    const child = Bun.spawn(['sleep', '60'])
    const identity = identityOf(child.pid)
    expect(identity).not.toBeNull()
    child.kill('SIGKILL')
    await child.exited
    expect(isAlive(child.pid)).toBe(false)
    expect(identityOf(child.pid)).toBeNull()
    expect(identity !== null && isSameRun(identity)).toBe(false)
  })

  test('another process under the same pid is another run', () => {
    expect(isSameRun({ pid: process.pid, startedAt: 'another start' })).toBe(false)
  })

  test.skipIf(process.platform !== 'linux')('a zombie does not live', async () => {
    // The shell has become another program, which never collects the child, when that ends.
    const parent = Bun.spawn(['sh', '-c', 'sleep 60 & echo $!; exec sleep 60'], { stdout: 'pipe' })
    const reader = parent.stdout.getReader()
    const pid = Number(new TextDecoder().decode((await reader.read()).value))
    await eventually('the shell is another program', async () =>
      (await Bun.file(`/proc/${parent.pid}/comm`).text()).startsWith('sleep'),
    )
    process.kill(pid, 'SIGKILL')
    await eventually('the child has ended', async () => (await Bun.file(`/proc/${pid}/stat`).text()).includes(') Z '))
    expect(isAlive(pid)).toBe(false)
    parent.kill('SIGKILL')
    await parent.exited
  })
})
