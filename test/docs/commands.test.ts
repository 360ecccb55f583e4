import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Glob } from 'bun'
import { scripts } from '../../package.json'
import { runCli } from '../../src/cli/run-cli.ts'
import { fencesOf, isRun, NOT_RUN } from '../support/shell-blocks.ts'

/*
 * Every command in every document is run by a test, or says that it is not. Here the documents are checked for that; the
 * commands themselves are run by the tests named in RUN_BY.
 */

/** The documents whose `sh` blocks a test runs, all of them and word for word. */
const RUN_BY: Record<string, readonly string[]> = {
  'README.md': ['test/docs/readme.fault.test.ts', 'test/docs/newcomer.long.test.ts'],
  'CONTRIBUTING.md': ['test/docs/newcomer.long.test.ts'],
  'docs/agency-guide.md': ['test/cli/agency-guide.long.test.ts'],
  'docs/partner-guide.md': ['test/docs/partner-guide.fault.test.ts'],
  'docs/agents.md': ['test/api/mcp/agents-doc.long.test.ts'],
  'docs/operating.md': [
    'test/docs/operating.long.test.ts',
    'test/e2e/containers.long.test.ts',
    'test/e2e/systemd.long.test.ts',
    'test/app/month-archive.pg.test.ts',
    'test/api/portal/retention.pg.test.ts',
    'test/cli/bench/bench.fault.test.ts',
  ],
  'docs/operating/doctor.md': ['test/docs/doctor.pg.test.ts'],
  'docs/operating/alerts.md': ['test/docs/monitoring.pg.test.ts', 'test/docs/monitoring.long.test.ts'],
  'docs/operating/personal-data.md': ['test/cli/guest-data.fault.test.ts'],
  'docs/operating/kubernetes.md': ['test/docs/kubernetes.test.ts'],
  'docs/cluster.md': ['test/docs/cluster.test.ts', 'test/e2e/containers-cluster.long.test.ts'],
}

/** What a block may be in. `json call` and the like are of docs/agents.md. */
const LANGUAGES = ['sh', 'json', 'text', 'js', 'ts', 'python', 'sql', 'ini', 'env', 'yaml', 'promql']

/** The start of a line meant for a shell. */
const COMMAND =
  /^\s*(?:\$ |(?:sudo |npx )?(?:nightledger|bun|bunx|npm|npx|node|curl|git|docker|claude|psql|pg_dump|pg_restore|systemctl|kubectl|promtool|apt-get|openssl)\b(?!\/))/

const documents = ['*.md', 'docs/**/*.md', 'bench/**/*.md', 'clients/**/*.md']
  .flatMap((pattern) => [...new Glob(pattern).scanSync('.')])
  .toSorted()

describe.each(documents)('%s', (path) => {
  const markdown = readFileSync(path, 'utf8')
  const fences = fencesOf(markdown)

  test('says of every block what it is in', () => {
    expect(
      fences.map(({ info }) => info.split(' ')[0] ?? '').filter((language) => !LANGUAGES.includes(language)),
    ).toEqual([])
  })

  test('has no command in a block that is not `sh`', () => {
    const elsewhere = fences.filter(({ info }) => info !== 'sh').flatMap(({ text }) => text.split('\n'))
    expect(elsewhere.filter((line) => COMMAND.test(line))).toEqual([])
  })

  test('has a test that runs its `sh` blocks, or each says why it is not run', () => {
    for (const { text } of fences.filter(({ info, text }) => info === 'sh' && text.startsWith('# not run')))
      expect(text.split('\n')[0]).toMatch(new RegExp(`^${NOT_RUN}.{8,}`))
    if (fences.some(isRun)) expect(RUN_BY[path]).toBeDefined()
  })

  test('has no link to a missing file', () => {
    const targets = [...markdown.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, target = '']) => target)
    expect(targets.filter((target) => !existsSync(normalize(join(dirname(path), target))))).toEqual([])
  })

  test('names only scripts that exist', () => {
    const named = [...markdown.matchAll(/\b(?:bun run|npm run) ([a-z][a-z:]*)(?![\w/.])/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })

  test('names only our files that exist', () => {
    const named = [...markdown.matchAll(/`((?:src|test|sql|bench|docs|clients|\.ci|\.github)\/[\w./-]*)`/g)].map(
      ([, name = '']) => name,
    )
    expect(named.filter((name) => !existsSync(name))).toEqual([])
  })

  test('names only commands that exist', async () => {
    for (const [, name = ''] of markdown.matchAll(/`nightledger ([a-z][a-z-]*)(?=[ `])/g)) {
      const code = await runCli([name, '--help'], {
        env: {},
        isTty: false,
        out: () => {},
        err: () => {},
        readInput: async () => '',
      })
      expect([name, code]).toEqual([name, 0])
    }
  })
})

test('the tests that run the blocks read them from their documents', () => {
  for (const [document, files] of Object.entries(RUN_BY)) {
    expect([document, existsSync(document)]).toEqual([document, true])
    const name = document.split('/').at(-1) ?? ''
    for (const file of files) {
      const source = readFileSync(file, 'utf8')
      expect([file, source.includes(name) && /shellBlocksOf\(/.test(source)]).toEqual([file, true])
    }
  }
})
