import { describe, expect, test } from 'bun:test'
import { accessSync, constants, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { parse } from 'yaml'
import { scripts, version } from '../../package.json'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* Nothing runs the workflows here, so a test reads them: what they call exists, and they may do no more than they need. */

interface Step {
  readonly id?: string
  readonly uses?: string
  readonly run?: string
}
interface Workflow {
  readonly permissions: Record<string, string>
  readonly jobs: Record<string, { readonly needs?: string | string[]; readonly permissions?: object; steps: Step[] }>
}

const FOLDER = temporaryFolder('workflow')
const WORKFLOWS = [...new Glob('*.yml').scanSync('.github/workflows')].toSorted()

function workflow(name: string): Workflow {
  return parse(readFileSync(join('.github/workflows', name), 'utf8'))
}

/** Runs a step as a runner would, up to the first command that fails. */
function run(script: string, env: Record<string, string>) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['bash', '-eo', 'pipefail', '-c', script], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return { exitCode, text: `${stdout}${stderr}` }
}

describe.each(WORKFLOWS)('%s', (name) => {
  const { permissions, jobs } = workflow(name)
  const steps = Object.values(jobs).flatMap((job) => job.steps)

  test('calls only scripts and jobs that exist', () => {
    for (const { run: script = '' } of steps) {
      for (const [, called = ''] of script.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toHaveProperty([called])
      for (const [path] of script.matchAll(/(?<![\w/])\.[\w-]+\/[\w/.-]+/g)) accessSync(path, constants.X_OK)
      expect(run('bash -n <<<"$SCRIPT"', { SCRIPT: script })).toEqual({ exitCode: 0, text: '' })
    }
    for (const { needs = [] } of Object.values(jobs))
      for (const needed of [needs].flat()) expect(jobs).toHaveProperty([needed])
    expect(steps.some(({ run: script }) => script?.includes('.ci/run'))).toBe(true)
  })

  test('pins each action by its major version, and may only read unless a job says otherwise', () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/)
    expect(permissions).toEqual({ contents: 'read' })
  })
})

describe('release.yml', () => {
  const { jobs } = workflow('release.yml')
  const stepWith = (job: string, text: string) =>
    jobs[job]?.steps.find(({ run: script }) => script?.includes(text))?.run ?? ''

  test('gives rights to what it publishes, and none to what runs the tests', () => {
    expect(jobs['check']?.permissions).toBeUndefined()
    expect(jobs['build']?.permissions).toEqual({ contents: 'read', packages: 'write' })
    expect(Object.keys(jobs['publish']?.permissions ?? {}).toSorted()).toEqual([
      'attestations',
      'contents',
      'id-token',
      'packages',
    ])
  })

  test('refuses a tag that is not the version of the package', () => {
    const env = { GITHUB_OUTPUT: join(FOLDER, 'output') }
    const check = (tag: string) => run(stepWith('check', 'GITHUB_REF_NAME'), { ...env, GITHUB_REF_NAME: tag }).exitCode
    expect(check(`v${version}`)).toBe(0)
    expect(readFileSync(env.GITHUB_OUTPUT, 'utf8')).toBe(`version=${version}\n`)
    expect(check(`v${version}1`)).not.toBe(0)
  })

  test('makes the notes of a release from its part of the change log', () => {
    const notes = join(FOLDER, 'notes.md')
    const [awk = ''] = stepWith('publish', 'awk').split('\n')
    expect(run(awk.replace('> notes.md', `> ${notes}`), { VERSION: version }).exitCode).toBe(0)
    const text = readFileSync(notes, 'utf8')
    expect(text).toContain('### For partners')
    expect(text).not.toMatch(/^## /m)
    expect(run(awk.replace('> notes.md', `> ${notes}`), { VERSION: '0.0.1' }).exitCode).toBe(0)
    expect(readFileSync(notes, 'utf8')).toBe('')
  })
})
