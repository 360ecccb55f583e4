import { afterAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { asOrdinaryUser, cloneInto, homeIn } from '../support/ordinary-user.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

/*
 * What README.md and CONTRIBUTING.md tell a newcomer to type first, word for word, in a clean clone, as an ordinary user with an empty home.
 */

const [START = ''] = shellBlocksOf(sectionOf(readFileSync('README.md', 'utf8'), 'Start')).map(({ script }) => script)
const CONTRIBUTING = shellBlocksOf(readFileSync('CONTRIBUTING.md', 'utf8')).map(({ script }) => script)
const READY_MS_MAX = 240_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newcomer(): { clone: string; env: Record<string, string>; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-newcomer-'))
  folders.push(folder)
  const clone = cloneInto(folder)
  const env = homeIn(folder, { PORT: '0', npm_config_prefer_offline: 'true' })
  // What npm has fetched once need not be fetched again.
  const fetched = join(homedir(), '.npm/_cacache')
  if (existsSync(fetched)) cpSync(fetched, join(folder, 'home/.npm/_cacache'), { recursive: true })
  else mkdirSync(join(folder, 'home/.npm'), { recursive: true })
  return { clone, env, folder }
}

/** Starts the service by a command of the README and tries what it prints. */
async function tryStart(command: string, { clone, env, folder }: ReturnType<typeof newcomer>): Promise<void> {
  // Into a file: of a pipe the last words can be lost when the process in between is gone.
  const output = join(folder, 'output')
  const run = Bun.spawn(asOrdinaryUser(['setsid', 'sh', '-c', `exec >${output} 2>&1\n${command}`], folder), {
    cwd: clone,
    env,
  })
  const said = () => (existsSync(output) ? readFileSync(output, 'utf8') : '')
  try {
    const deadline = performance.now() + READY_MS_MAX
    while (!/Try it in the sandbox, .*:\n(?: +curl .*\n){3}/.test(said())) {
      if (run.exitCode !== null || performance.now() > deadline) throw new Error(`It did not come up:\n${said()}`)
      await Bun.sleep(50)
    }
    const lines = [...said().matchAll(/^ +(curl .*)$/gm)].map(([, line = '']) => line)
    expect(lines).toHaveLength(3)
    for (const line of lines) {
      const answer = Bun.spawnSync(['sh', '-c', line], { env })
      expect(answer.exitCode).toBe(0)
      expect(JSON.parse(answer.stdout.toString())).not.toHaveProperty('code')
    }
    // As the terminal does on Ctrl-C.
    process.kill(-run.pid, 'SIGINT')
    await run.exited
    // `bun start` does not wait for what it has started.
    for (let i = 0; !said().includes('"stopped"') && i < 100; i++) await Bun.sleep(100)
    expect(said()).toContain('"stopped"')
  } finally {
    try {
      process.kill(-run.pid, 'SIGKILL')
    } catch {
      // It has ended, as it should.
    }
  }
}

describe('a newcomer with a clean clone', () => {
  test('types the two words of the README, sees it come up, pastes the lines it prints, and stops it', async () => {
    await tryStart(START.trim(), newcomer())
  }, 300_000)

  test('who has Bun does it with Bun', async () => {
    const bun = newcomer()
    const bin = join(bun.folder, 'bin')
    mkdirSync(bin)
    cpSync(process.execPath, join(bin, 'bun'))
    await tryStart('bun install && bun start', { ...bun, env: { ...bun.env, PATH: `${bin}:${bun.env['PATH']}` } })
  }, 300_000)

  test('who wants to change something sets up and runs a test', async () => {
    const { clone, env, folder } = newcomer()
    const run = Bun.spawn(asOrdinaryUser(['sh', '-ec', CONTRIBUTING.join('\n')], folder), {
      cwd: clone,
      env,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([run.stdout.text(), run.stderr.text()])
    expect({ code: await run.exited, last: stdout.trim().split('\n').at(-1) ?? stderr }).toEqual({
      code: 0,
      last: expect.stringMatching(/^[1-9]\d* passed, 0 failed$/),
    })
  }, 300_000)
})
