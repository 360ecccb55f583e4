import { expect, test } from 'bun:test'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'

/* What docs/versions.md says of a download: anybody can build the same bytes. */

const FOLDERS = ['first', 'second/with/another/path'].map((name) => join(temporaryFolder('build'), name))

test('one commit gives the same binary in every folder, and the binary does not name the folder', () => {
  const hashes: string[] = []
  for (const folder of FOLDERS) {
    mkdirSync(folder, { recursive: true })
    for (const path of ['package.json', 'package-lock.json', 'tsconfig.json', 'sql', 'src'])
      cpSync(path, join(folder, path), { recursive: true })
    // A link would be followed, and both builds would have the path of one.
    expect(Bun.spawnSync(['cp', '-a', '--reflink=auto', resolve('node_modules'), folder]).exitCode).toBe(0)
    const build = Bun.spawnSync(['npm', 'run', 'build'], {
      cwd: folder,
      env: { ...process.env, COMMIT: 'c0ffee' },
      stderr: 'pipe',
    })
    expect([build.exitCode, build.exitCode === 0 ? '' : build.stderr.toString()]).toEqual([0, ''])
    const bytes = readFileSync(join(folder, 'dist/nightledger'))
    expect(bytes.includes(folder)).toBe(false)
    hashes.push(new Bun.CryptoHasher('sha256').update(bytes).digest('hex'))
  }
  console.log(`SHA-256 of the binary: ${hashes[0]}`)
  expect(new Set(hashes).size).toBe(1)
})
