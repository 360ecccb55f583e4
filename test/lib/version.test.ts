import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import packageJson from '../../package.json'
import packageLock from '../../package-lock.json'
import { COMMIT, VERSION } from '../../src/lib/version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const SOURCE = join(import.meta.dir, '../../src/lib/version.ts')
const FOLDER = temporaryFolder('version')

test('the version is the same in the package, the lock file, the program, the clients, the change log and what operators copy', () => {
  const textOf = (path: string) => readFileSync(path, 'utf8')
  const copied = ['compose*.yaml', 'deploy/**/*.yaml'].flatMap((pattern) => [...new Glob(pattern).scanSync()])
  const images = copied.flatMap((path) =>
    [...textOf(path).matchAll(/(?:image: nightledger:|newTag: )([\w.-]+)/g)].map(([, tag]) => tag),
  )
  const versions = [
    packageJson.version,
    packageLock.version,
    packageLock.packages[''].version,
    JSON.parse(textOf('clients/typescript/package.json')).version,
    /^## (\d\S+)/m.exec(textOf('CHANGELOG.md').replaceAll(/[[\]]/g, ''))?.[1],
    ...images,
  ]
  expect(images.length).toBeGreaterThan(4)
  expect(new Set(versions)).toEqual(new Set([VERSION]))
})

test('a program run from source says so, and a bundled one names the commit that the build was told of', async () => {
  expect(COMMIT).toBe('source')
  const bundled = join(FOLDER, 'version.js')
  const build = Bun.spawnSync([process.execPath, 'build', SOURCE, '--outfile', bundled], {
    cwd: dirname(SOURCE),
    env: { ...process.env, NIGHTLEDGER_COMMIT: 'c0ffee' },
  })
  expect(build.exitCode).toBe(0)
  expect((await import(bundled)).COMMIT).toBe('c0ffee')
})
