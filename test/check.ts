/*
 * `bun run check`: what must pass before every commit, the same in CI. Types, lint and format, unused code, licences, unit tests (the
 * architecture test among them); without those as `bun run check --no-tests`, for CI, which runs them with all other tests.
 * Runs every step even after one has failed; exit code 0 only if all passed.
 */

const STEPS: readonly { name: string; command: readonly string[] }[] = [
  { name: 'types', command: [program('tsc'), '--noEmit'] },
  { name: 'types of the page', command: [program('tsc'), '--noEmit', '--project', 'src/page'] },
  { name: 'lint and format', command: [program('biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'unused code and packages', command: [program('knip'), '--no-progress', '--treat-config-hints-as-errors'] },
  { name: 'licences', command: [process.execPath, 'run', 'licences'] },
  ...(process.argv.includes('--no-tests')
    ? []
    : [{ name: 'unit tests', command: [process.execPath, 'test/run.ts', '--unit', '--only-failures'] }]),
]

const failed: string[] = []
for (const { name, command } of STEPS) {
  console.log(`\n== ${name}`)
  const begin = performance.now()
  const { exitCode } = Bun.spawnSync([...command], { stdio: ['ignore', 'inherit', 'inherit'] })
  const seconds = ((performance.now() - begin) / 1_000).toFixed(1)
  console.log(`== ${name}: ${exitCode === 0 ? 'passed' : `failed with exit code ${exitCode}`} in ${seconds} s`)
  if (exitCode !== 0) failed.push(name)
}

console.log(failed.length === 0 ? '\nEvery check passed' : `\nFailed: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)

/** By path, so that the check also runs outside of npm, which has these on its PATH. */
function program(name: string): string {
  return `node_modules/.bin/${name}`
}
