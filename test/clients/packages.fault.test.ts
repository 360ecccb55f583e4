/** What would be published: contents, size, and that it works where it is installed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import typescript from '../../clients/typescript/package.json'
import { vectors } from '../../docs/webhooks/vectors.json'
import { rounds } from '../support/long-run.ts'
import { fencesOf } from '../support/shell-blocks.ts'
import { CASES, KEY } from './support/conformance-cases.ts'
import { loadedModules } from './support/loaded-modules.ts'
import { ScriptedServer } from './support/scripted-server.ts'

const ROOT = join(import.meta.dir, '../..')
const PYTHON = join(ROOT, 'clients/python')
const BYTES_MAX = 12_288
const MODULES = ['index', 'proof', 'webhooks']
const pythonFiles = readdirSync(join(PYTHON, 'nightledger')).filter((name) => /\.(py|typed)$/.test(name))
const run = (command: string[], cwd: string) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd })
  return { exitCode, out: stdout.toString(), err: stderr.toString() }
}
const hasModule = (name: string) => Bun.spawnSync(['python3', '-c', `import ${name}`]).exitCode === 0

describe('TypeScript', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-client-'))
  const installed = join(folder, 'node_modules/nightledger-client')
  beforeAll(() => {
    for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE'])
      cpSync(join(ROOT, 'clients/typescript', name), join(installed, name))
    const built = run([process.execPath, 'run', 'build.ts', join(installed, 'dist')], join(ROOT, 'clients/typescript'))
    if (built.exitCode !== 0) throw new Error(built.out + built.err)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const distributed = (name: string) => join(installed, 'dist', name)

  test('the package has its modules, source maps, types, README, changelog and licence, and nothing else', () => {
    const { out, err } = run(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts', '--offline'], installed)
    if (out === '') throw new Error(err)
    const [{ files }] = JSON.parse(out)
    const paths: string[] = files.map(({ path }: { path: string }) => path)
    expect(paths.filter((path) => !path.endsWith('.d.ts')).sort()).toEqual([
      ...['CHANGELOG.md', 'LICENSE', 'README.md'],
      ...MODULES.flatMap((name) => [`dist/${name}.js`, `dist/${name}.js.map`]),
      'package.json',
    ])
    expect(paths).toContain('dist/index.d.ts')
    expect(paths).toContain('dist/webhooks.d.ts')
    expect(typescript).not.toHaveProperty('dependencies')
  })
  test('an import of the client loads less than 12 KB, without proofs and webhooks', () => {
    const loaded = [...loadedModules(distributed('index.js'))]
    expect(loaded).not.toContain(distributed('proof.js'))
    expect(loaded).not.toContain(distributed('webhooks.js'))
    expect(loaded.reduce((bytes, path) => bytes + statSync(path).size, 0)).toBeLessThan(BYTES_MAX)
  })
  test('the module for webhooks loads nothing of the client', () => {
    expect([...loadedModules(distributed('webhooks.js'))]).toEqual([distributed('webhooks.js')])
  })
  test('the modules need nothing but the web, and each other', () => {
    const imports = MODULES.flatMap((name) =>
      new Bun.Transpiler().scanImports(readFileSync(distributed(`${name}.js`), 'utf8')),
    )
    expect(imports.map(({ path }) => path)).toEqual(['./proof.js'])
  })
  test('the source maps have the sources', () => {
    const [main = '', proof, webhooks] = MODULES.map((name) =>
      JSON.parse(readFileSync(distributed(`${name}.js.map`), 'utf8')).sourcesContent.join(''),
    )
    expect(main).toContain('export class Nightledger')
    expect(proof).toContain('export async function contradictionOf')
    expect(webhooks).toContain('export async function unwrap')
  })
  test('it works in Node, with an error of its class and name, and no dump has the key', async () => {
    const server = await ScriptedServer.start()
    server.begin([
      { json: { units: [{ slug: 'sea-view' }] } },
      { status: 422, json: { code: 'MIN_STAY', title: 'Too short', minStay: 3 } },
    ])
    const program = join(folder, 'program.mjs')
    writeFileSync(
      program,
      `
        import { inspect } from 'node:util'
        import { MinStayError, Nightledger } from 'nightledger-client'
        const client = new Nightledger({ key: '${KEY}', url: process.argv[2] })
        const [unit] = await client.units.list()
        const error = await client
          .quote({ unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-02' })
          .catch((error) => error)
        const dump = inspect([client, error], { depth: null, showHidden: true })
        console.log(JSON.stringify([error instanceof MinStayError, error.name, error.minStay, dump.includes('${KEY}')]))
      `,
    )
    const child = Bun.spawn(['node', program, server.url], { stdout: 'pipe', stderr: 'inherit' })
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual([true, 'MinStayError', 3, false])
    server.stop()
  })
  describe('histories are verified, and webhooks unwrapped', () => {
    const grown = CASES.find(({ name }) => name === 'history: a history that has grown is verified with a proof')
    const program = join(folder, 'verifying.mjs')
    let server: ScriptedServer
    beforeAll(async () => {
      server = await ScriptedServer.start()
      writeFileSync(
        program,
        `
          import { HistoryRewrittenError, Nightledger } from 'nightledger-client'
          import { unwrap, WebhookError } from 'nightledger-client/webhooks'
          const [before, after] = ${JSON.stringify(grown?.steps[0]?.args)}
          const { body, headers, secrets, t } = ${JSON.stringify(vectors[0])}
          const client = new Nightledger({ key: '${KEY}', url: process.argv[2] })
          await client.history.verify(before, after)
          const rewritten = await client.history.verify(after, before).catch((error) => error)
          const receive = (now) => unwrap(new TextEncoder().encode(body), headers, secrets, { now })
          const event = await receive(1_000 * t)
          const late = await receive(2_000 * t).catch((error) => error)
          console.log(JSON.stringify([
            rewritten instanceof HistoryRewrittenError && rewritten.before === after && rewritten.message,
            event.event,
            late instanceof WebhookError && late.reason,
          ]))
        `,
      )
    })
    afterAll(() => server.stop())

    const bundled = async (splitting: boolean) => {
      const outdir = join(folder, `bundle-${splitting}`)
      await Bun.build({ entrypoints: [program], outdir, naming: '[name].mjs', target: 'browser', splitting })
      return ['node', join(outdir, 'verifying.mjs')]
    }
    test.each([
      ['Node', async () => ['node', program]],
      ['Bun', async () => [process.execPath, program]],
      ['a bundle of one file', () => bundled(false)],
      ['a bundle of several files', () => bundled(true)],
    ])('in %s', async (_, commandOf) => {
      server.begin(grown?.wire.slice(0, 1).map(({ answer }) => answer) ?? [])
      const child = Bun.spawn([...(await commandOf()), server.url], { stdout: 'pipe', stderr: 'inherit' })
      expect(JSON.parse(await new Response(child.stdout).text())).toEqual([
        expect.stringMatching(/^The history was rewritten: 1 entries of .+ do not continue the 2 entries of /),
        'booking.created',
        'time',
      ])
      expect(server.received.map(({ path }) => path)).toEqual(['/partner/v1/checkpoint/proof?from=1&to=2'])
    })
  })
  test('its types are found by a project that installs it, and refuse what is wrong', () => {
    writeFileSync(
      join(folder, 'use.ts'),
      `
        import { BookingConflictError, Nightledger, type IsoDate } from 'nightledger-client'
        import { unwrap, type WebhookEvent } from 'nightledger-client/webhooks'
        const client = new Nightledger({ key: 'k', url: 'http://127.0.0.1' })
        for await (const booking of client.bookings.list({ from: '2027-01-01' })) {
          const date: IsoDate = booking.arrival
          console.log(date)
        }
        const quote = await client.quote({ unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-05' })
        await client.book({ atPrice: quote, sourceRef: 'A-1' }).catch((error) => {
          if (error instanceof BookingConflictError) console.log(error.conflict.bookableFrom?.length)
        })
        // @ts-expect-error: a stay without a departure
        await client.book({ unit: 'sea-view', arrival: '2027-03-01' })
        // @ts-expect-error: not a date
        client.bookings.list({ from: 'tomorrow' })
        // @ts-expect-error: not bytes
        await unwrap('{}', new Headers(), 'whsec_')
        const event: WebhookEvent = await unwrap(new Uint8Array(), new Headers(), 'whsec_')
        if (event.event === 'booking.created') console.log(event.data.totalAmount)
        for await (const change of client.changes.follow({ after: 'start', include: ['rates'] }))
          if (change.event === 'booking.created') console.log(change.data.totalAmount)
          else if (change.event === 'rates.updated') console.log(change.data.from)
      `,
    )
    const tsc = [join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '--strict', '--exactOptionalPropertyTypes']
    for (const module of rounds({ push: ['nodenext'], long: ['node16', 'nodenext', 'preserve'] })) {
      const settings = ['--module', module, '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--types', '']
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
      expect(run([...tsc, ...settings, 'use.ts'], folder).out).toBe('')
    }
  })
})

describe('Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-python-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test('the version is the same wherever it is written, and that of the other client', () => {
    const written = /^version = "(.+)"$/m.exec(readFileSync(join(PYTHON, 'pyproject.toml'), 'utf8'))?.[1]
    const inCode = /^VERSION = '(.+)'$/m.exec(readFileSync(join(PYTHON, 'nightledger/transport.py'), 'utf8'))?.[1]
    expect([written, inCode]).toEqual([typescript.version, typescript.version])
    for (const name of ['typescript', 'python'])
      expect(readFileSync(join(ROOT, 'clients', name, 'CHANGELOG.md'), 'utf8')).toContain(`## ${typescript.version}`)
  })
  test('only the standard library is imported, and only from inside by relative names: it can be vendored', () => {
    const known = run(['python3', '-c', 'import sys; print(*sys.stdlib_module_names)'], ROOT).out.split(/\s+/)
    for (const name of pythonFiles) {
      const text = readFileSync(join(PYTHON, 'nightledger', name), 'utf8').replace(
        /if TYPE_CHECKING:\n( .*\n|\n)+/g,
        '',
      )
      for (const [, module = ''] of text.matchAll(/^(?:from|import) ([\w.]+)/gm))
        expect(module.startsWith('.') || known.includes(module.split('.')[0] ?? '')).toBe(true)
    }
  })
  // Without setuptools, there is nothing here that could build it.
  test.skipIf(!hasModule('setuptools'))('what is built has every module, and says that it is typed', () => {
    cpSync(PYTHON, join(folder, 'source'), { recursive: true })
    const build = ['python3', '-c', 'from setuptools import setup; setup()', '-q', 'build', '--build-lib', '../built']
    const { exitCode, err } = run(build, join(folder, 'source'))
    if (exitCode !== 0) throw new Error(err)
    expect(readdirSync(join(folder, 'built/nightledger')).sort()).toEqual(pythonFiles.sort())
    expect(pythonFiles).toContain('py.typed')
  })
  // mypy is a package of Debian; .ci/run installs it.
  test.skipIf(Bun.which('mypy') === null)(
    'mypy --strict finds nothing in it nor in the program of the guide, and the mistakes of a caller',
    () => {
      const check = ['mypy', '--strict', '--no-error-summary', '--cache-dir', join(folder, 'cache')]
      expect(run([...check, '-p', 'nightledger'], PYTHON).out).toBe('')
      mkdirSync(join(folder, 'use'), { recursive: true })
      writeFileSync(
        join(folder, 'use/use.py'),
        `
from nightledger import AsyncNightledger, BookingConflictError, Nightledger, unwrap

client = Nightledger('k', 'http://127.0.0.1')
for booking in client.bookings.list(from_='2027-01-01'):
    print(booking['arrival'].upper(), booking['nope'])  # line 6
try:
    client.book(at_price=client.quote(unit='a', arrival='2027-03-01', departure='2027-03-05'))
except BookingConflictError as error:
    print(error.conflict['bookableFrom'])
unwrap('{}', {}, 'whsec_')  # line 11


async def main() -> None:
    face = AsyncNightledger('k', 'http://127.0.0.1')
    print((await face.units.get('a'))['slug'])
    await face.quote(unit='a', arrival='2027-03-01')  # line 17
`,
      )
      const program = fencesOf(readFileSync(join(ROOT, 'docs/partner-guide.md'), 'utf8')).find(
        ({ info }) => info === 'python',
      )
      writeFileSync(join(folder, 'use/guide.py'), program?.text ?? 'not there')
      const checked = (file: string) =>
        Bun.spawnSync([...check, join(folder, 'use', file)], {
          cwd: PYTHON,
          env: { ...process.env, MYPYPATH: PYTHON },
        }).stdout.toString()
      expect(checked('guide.py')).toBe('')
      const lines = [...checked('use.py').matchAll(/use\.py:(\d+): error/g)].map(([, line]) => Number(line))
      expect(lines).toEqual([6, 11, 17])
    },
  )
})
