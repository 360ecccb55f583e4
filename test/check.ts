/*
 * `bun run check`: what must pass before every commit, the same in CI. Types, lint and format, unused code and licences side by side, then
 * the unit tests (the architecture test among them); without those as `bun run check --no-tests`, for CI, which runs them with all other
 * tests. Runs every step even after one has failed; exit code 0 only if all passed.
 */

interface Step {
  readonly name: string
  readonly command: readonly string[]
}

const STATIC: readonly Step[] = [
  { name: 'types', command: types('.') },
  { name: 'types of the page', command: types('src/page') },
  { name: 'lint and format', command: [program('biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'unused code and packages', command: [program('knip'), '--no-progress', '--treat-config-hints-as-errors'] },
  { name: 'licences', command: [process.execPath, 'run', 'licences'] },
]
const TESTS: Step = {
  name: 'unit tests',
  command: [process.execPath, 'test/run.ts', '--unit', '--only-failures'],
}

const failed: string[] = []
await Promise.all(STATIC.map((step) => run(step, 'pipe')))
if (!process.argv.includes('--no-tests')) await run(TESTS, 'inherit')
console.log(failed.length === 0 ? '\nEvery check passed' : `\nFailed: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)

/** @param output piped is what runs beside others: it is printed in one piece at the end */
async function run({ name, command }: Step, output: 'pipe' | 'inherit'): Promise<void> {
  const begin = performance.now()
  if (output === 'inherit') console.log(`\n== ${name}`)
  const env = { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) }
  const child = Bun.spawn([...command], { stdio: ['ignore', output, output], env })
  const said = await Promise.all([child.stdout, child.stderr].map((stream) => (stream ? stream.text() : '')))
  const exitCode = await child.exited
  const seconds = ((performance.now() - begin) / 1_000).toFixed(1)
  if (output === 'pipe') console.log(`\n== ${name}${said.map((text) => text && `\n${text.trimEnd()}`).join('')}`)
  console.log(`== ${name}: ${exitCode === 0 ? 'passed' : `failed with exit code ${exitCode}`} in ${seconds} s`)
  if (exitCode !== 0) failed.push(name)
}

/** What has not changed since the last check is not looked at again. */
function types(project: string): string[] {
  const known = `node_modules/.cache/nightledger-types/${project === '.' ? 'service' : 'page'}.tsbuildinfo`
  return [program('tsc'), '--noEmit', '--project', project, '--incremental', '--tsBuildInfoFile', known]
}

/** By path, so that the check also runs outside of npm, which has these on its PATH. */
function program(name: string): string {
  return `node_modules/.bin/${name}`
}
