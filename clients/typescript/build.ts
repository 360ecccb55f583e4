import { rmSync } from 'node:fs'
import { join } from 'node:path'

/*
 * Makes what is published: a minified module for each entry of the package and for each `import()`, with source maps, and the types.
 * `bun run build.ts [folder]`
 */

const outdir = process.argv[2] ?? join(import.meta.dir, 'dist')
rmSync(outdir, { recursive: true, force: true })
const { success, logs } = await Bun.build({
  entrypoints: [join(import.meta.dir, 'src/index.ts'), join(import.meta.dir, 'src/webhooks.ts')],
  outdir,
  // Code that two modules share has no name of its own: if there ever is some, the build fails.
  naming: { chunk: '[name].[ext]' },
  format: 'esm',
  target: 'browser',
  splitting: true,
  // A kilobyte of code for HTML pages.
  modulePreload: false,
  minify: true,
  sourcemap: 'linked',
})
const tsc = join(import.meta.dir, '../../node_modules/.bin/tsc')
const { exitCode } = Bun.spawnSync([tsc, '--project', import.meta.dir, '--outDir', outdir], {
  stdio: ['ignore', 'inherit', 'inherit'],
})
for (const log of logs) console.error(log)
process.exit(success ? exitCode : 1)
