/** HTTP create, variants in turn, each service on a database of its own. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadResult } from './load/load-process.ts'
import { JsonChild } from './support/json-child.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, startPostgres, startService } from './support/processes.ts'
import { seedLedger } from './world/seed.ts'
const VARIANTS = (process.env['VARIANTS'] ?? '1,2').split(';')
const CLIENTS = (process.env['CLIENTS'] ?? '1,64,256').split(',').map(Number)
const ROUNDS = Number(process.env['ROUNDS'] ?? 5), RUN_MS = Number(process.env['RUN_MS'] ?? 450)
const SIZE = { agencies: Number(process.env['AGENCIES'] ?? 100), unitsPerAgency: 20, bookingsPerUnit: 0, bookingsOfFirst: 0 }
const postgres = await startPostgres()
const med = (xs: number[]) => xs.toSorted((a, b) => a - b)[xs.length >> 1]!
const load = JsonChild.start(join(import.meta.dir, 'load/load-process.ts'))
const arms: any[] = []
/** The machine does other things: its scheduler groups by session, and every backend is one. */
function prefer(roots: number[]): void {
  const parent = new Map<number, number>()
  for (const name of readdirSync('/proc')) { const pid = Number(name); if (!pid) continue
    try { parent.set(pid, Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1])) } catch {} }
  for (const [pid, of] of parent) if (roots.includes(pid) || roots.includes(of)) try { writeFileSync(`/proc/${pid}/autogroup`, '-16') } catch {}
}
try {
  for (const variant of VARIANTS) {
    const [lanes, gather] = variant.split(':')
    const { url, sql } = await postgres.createDatabase('bench' + arms.length)
    if (process.env['PREFER']) prefer([process.pid, postgres.postmasterPid])
    await seedLedger(sql, SIZE, () => {})
    await sql`vacuum analyze`
    const service = await startService(url, { RESIDENT_UNITS_MAX: '200000', LOG_LEVEL: 'info', LANES: lanes!, GATHER: gather ?? '1,0,0' }, [])
    await load.ask<LoadResult>({ kind: 'availability-31', size: SIZE, firstSale: 0, connections: 32, warmMs: 0, runMs: 60000, requestsMax: SIZE.agencies * 20, url: service.baseUrl })
    arms.push({ variant, service, sold: 0, r: {} })
  }
  const roots = () => [process.pid, postgres.postmasterPid, ...arms.map((a) => a.service.pid)]
  const run = async (arm: any, connections: number, warmMs: number, runMs: number) => {
    if (process.env['PREFER']) prefer(roots())
    const s0 = cpuSecondsOf(arm.service.pid), p0 = cpuSecondsOfFamily(postgres.postmasterPid)
    const result = await load.ask<LoadResult>({ kind: 'create', size: SIZE, firstSale: arm.sold, connections, warmMs, runMs, url: arm.service.baseUrl })
    arm.sold = result.sold
    if (result.fault) throw new Error(result.fault)
    const n = result.perSecond * (warmMs + runMs) / 1000
    return { ...result, cpu: (cpuSecondsOf(arm.service.pid) - s0) * 1e6 / n, pg: (cpuSecondsOfFamily(postgres.postmasterPid) - p0) * 1e6 / n }
  }
  for (const arm of arms) await run(arm, 64, 0, 500)
  for (const connections of CLIENTS) {
    for (let round = 0; round < ROUNDS; round++) for (const arm of round % 2 ? arms.toReversed() : arms) (arm.r[connections] ??= []).push(await run(arm, connections, 100, RUN_MS))
    for (const arm of arms) { const r = arm.r[connections]; const f = (k: string) => med(r.map((x: any) => x[k])), min = (k: string) => Math.min(...r.map((x: any) => x[k]))
      const ratio = med(r.map((x: any, i: number) => x.perSecond / arms[0].r[connections][i].perSecond))
      if (process.env['ALL']) console.log(arm.variant, r.map((x: any) => `${x.perSecond.toFixed(0)}/${x.p50Ms.toFixed(1)}/${x.p99Ms.toFixed(0)}/${x.p999Ms.toFixed(0)}`).join(' '))
      console.log(`${String(connections).padStart(4)} clients ${arm.variant.padEnd(14)} ${f('perSecond').toFixed(0).padStart(6)}/s (x${ratio.toFixed(2)}, max ${Math.max(...r.map((x: any) => x.perSecond)).toFixed(0)}) p50 ${f('p50Ms').toFixed(2)} p99 ${f('p99Ms').toFixed(1)} cpu ${f('cpu').toFixed(0)}+${f('pg').toFixed(0)} (min ${min('cpu').toFixed(0)}+${min('pg').toFixed(0)})`) }
  }
} finally { for (const arm of arms) arm.service.kill?.('SIGTERM'); await load.stop(); for (const a of arms) await a.service.stop?.(); await postgres.stop() }
process.exit()
