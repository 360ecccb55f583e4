import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { programFile } from '../support/bundled-program.ts'
import { cliWith } from '../support/cli-terminal.ts'
import { eventually } from '../support/eventually.ts'
import { CALLER } from '../support/samples.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { sharedTestService } from '../support/test-service.ts'

let agency: Agency
let unit: Unit
let key: string
const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  unit = await service.unit(agency, { slug: 'sea-view' })
  key = (await service.key(agency)).secret
})

const cli = (...args: string[]) => cliWith({})('changes', '--url', service.url, ...args)

describe('nightledger changes', () => {
  test('lists the changes from the beginning, and says how to continue', async () => {
    const { id } = await service.book(agency, unit, '2027-03-01', '2027-03-04')
    await service.ledger.commands.cancel(agency, { bookingId: id, reason: null }, CALLER)
    const first = await cli('--key', key, '--limit', '1')
    expect(first.code).toBe(0)
    expect(first.stdout.split('\n').map((line) => line.split(/ +/).slice(1))).toEqual([
      ['EVENT', 'BOOKING', 'UNIT', 'ARRIVAL', 'DEPARTURE', 'STATUS'],
      ['booking.created', id, 'sea-view', '2027-03-01', '2027-03-04', 'confirmed'],
      [],
    ])
    const cursor = /^There are more: continue with --after (\S+)\n$/.exec(first.stderr)?.[1] ?? ''
    const rest = await cli('--key', key, '--after', cursor, '--json')
    expect(JSON.parse(rest.stdout).changes.map(({ event }: { event: string }) => event)).toEqual(['booking.cancelled'])
  })

  test('needs a key, and says so when it is refused', async () => {
    expect(await cli()).toMatchObject({ code: 2, stderr: expect.stringContaining('--key') })
    expect(await cli('--key', 'hr_live_wrong')).toMatchObject({ code: 3, stderr: expect.stringContaining('API key') })
    expect(await cli('--key', 'hr_live_wrong', '--follow')).toMatchObject({ code: 3 })
    expect(await cli('--key', key, '--after', 'x')).toMatchObject({ code: 3, stderr: expect.stringContaining('after') })
    expect(await cli('--key', key, '--after', 'x', '--follow')).toMatchObject({ code: 3 })
  })

  test('--follow prints changes as they happen, over a lost connection', async () => {
    const proxy = await TcpProxy.start(service.port)
    const url = `http://127.0.0.1:${proxy.port}`
    const env = { PATH: process.env['PATH'] ?? '', NIGHTLEDGER_URL: url, NIGHTLEDGER_KEY: key }
    const child = Bun.spawn([process.execPath, 'run', programFile(), 'changes', '--follow', '--json'], {
      env,
      stderr: 'pipe',
    })
    let out = ''
    void (async () => {
      for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) out += part
    })()
    const { changes } = service.ledger
    await eventually('it follows', () => changes.stats.waiting.streams === 1)
    await service.book(agency, unit, '2027-03-01', '2027-03-02')
    await eventually('one line', () => out.split('\n').length === 2)
    proxy.cutOff()
    await eventually('it has ended', () => changes.stats.waiting.streams === 0)
    proxy.reconnect()
    await service.book(agency, unit, '2027-03-02', '2027-03-03')
    await eventually('it follows again', () => changes.stats.waiting.streams === 1)
    await service.book(agency, unit, '2027-03-03', '2027-03-04')
    await eventually('three lines', () => out.split('\n').length === 4)
    child.kill('SIGTERM')
    await child.exited
    proxy.stop()
    const seqs = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq)
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
  })
})
