import { afterAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { runChecks } from '../../src/app/checks/run-checks.ts'
import { VARIABLES } from '../../src/app/config.ts'
import { cliWith } from '../support/cli-terminal.ts'
import { testDatabase } from '../support/postgres.ts'
import { credentialsFor } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

/* docs/operating/doctor.md, and what the findings of `doctor` tell operators to run. */

const DOCUMENT = readFileSync('docs/operating/doctor.md', 'utf8')
const FOLDER = 'src/app/checks'
const SOURCES = readdirSync(FOLDER).map((name) => readFileSync(`${FOLDER}/${name}`, 'utf8'))

const database = await testDatabase()
afterAll(() => database.drop())

test('every command of the document runs', async () => {
  const cli = cliWith({ ...credentialsFor(database.url), PORT: '0' })
  const lines = shellBlocksOf(DOCUMENT).flatMap(({ script }) => script.trim().split('\n'))
  expect(lines.length).toBeGreaterThan(3)
  for (const line of lines) {
    const [program, ...args] = line.split(' ')
    const { code, stderr } = await cli(...args)
    expect([line, program, code, stderr]).toEqual([line, 'nightledger', 0, ''])
  }
})

test('the table has every check, in their order', async () => {
  const made = await runChecks({ PORT: 'http' })
  const rows = [...sectionOf(DOCUMENT, 'The installation').matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name ?? '')
  expect(rows).toEqual([...new Set(made.map(({ check }) => check))])
})

test('every command of ours that a finding names exists', async () => {
  const named = SOURCES.flatMap((source) => [...source.matchAll(/`nightledger ((?:[a-z-]+ ?)+)/g)])
  const commands = [...new Set(named.map(([, words = '']) => words.replace(/ -.*/, '').trim()))]
  expect(commands).toContain('migrate')
  expect(commands).toContain('webhooks list')
  for (const words of commands) {
    const { code, stdout } = await cliWith({})(...words.split(' '), '--help')
    // A noun answers for a verb that it does not have.
    expect([words, code, stdout.split('\n')[0]]).toEqual([words, 0, expect.stringContaining(`nightledger ${words}`)])
  }
})

test('every variable that a finding tells to set exists', () => {
  const named = SOURCES.flatMap((source) => [
    ...source.matchAll(/(?:Set|set|Correct|lower|remove) ([A-Z]{2,}(?:_[A-Z]+)*)\b/g),
  ])
  const names = new Set(named.map(([, name = '']) => name))
  expect(names.size).toBeGreaterThan(5)
  for (const name of names) expect(VARIABLES).toContain(name)
})
