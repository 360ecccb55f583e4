import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, rmSync } from 'node:fs'
import { HOSTS } from '../support/cluster/documented-files.ts'
import { copyOfRepository, Engine, whyNoEngine } from '../support/containers/engine.ts'
import { agencyOf } from '../support/containers/requests.ts'
import { eventually } from '../support/eventually.ts'
import { send } from '../support/http-call.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

/* compose.cluster.yaml, run by a real engine with the commands of docs/cluster.md: three hosts with etcd, Patroni and a node, and HAProxy. */

const DOCUMENT = readFileSync('docs/cluster.md', 'utf8')
const blocks = (heading: string) => shellBlocksOf(sectionOf(DOCUMENT, heading)).map(({ script }) => script)
const [UP, LOSE_HOST] = blocks('Trying it on one machine') as [string, string]
const [MAKE_SECRETS] = blocks('Setting it up') as [string]
const ENTRANCE = 'http://127.0.0.1:8080'

const obstacle = whyNoEngine()
if (obstacle !== null) console.log(`No cluster of containers is run here: ${obstacle}`)

describe.skipIf(obstacle !== null)('compose.cluster.yaml', () => {
  let engine: Engine
  let folder: string
  const keys: string[] = []
  let lost = 0
  beforeAll(async () => {
    engine = await Engine.start()
    folder = copyOfRepository()
  }, 1_800_000)
  afterAll(async () => {
    await engine?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  const run = (script: string) =>
    engine.run(script, { cwd: folder, env: { COMPOSE_FILE: 'compose.cluster.yaml', PROXY_ADDRESS: '' } })
  /** Asks until there is an answer that says yes or no: a host may just have been lost. Always with the same key, so it is made once. */
  const book = async (key: string, arrival: string, departure: string) => {
    const call = {
      token: key,
      headers: { 'idempotency-key': arrival },
      json: { unit: 'unit-0', arrival, departure },
    }
    let status = 0
    const isAnswered = async () => {
      status = await send(`${ENTRANCE}/partner/v1/bookings`, call).then(
        (answer) => answer.status,
        () => 0,
      )
      return status > 0 && status < 500
    }
    await eventually('the booking is answered', isAnswered, 120_000)
    return status
  }
  const bookForEach = (arrival: string, departure: string) =>
    Promise.all(keys.map((key) => book(key, arrival, departure)))
  const eachIs = (status: number) => keys.map(() => status)

  test('the commands of the document build the parts, and start three nodes that serve all shards', async () => {
    await run(MAKE_SECRETS)
    const since = performance.now()
    const status = await run(UP)
    console.log(`The cluster was built and up after ${((performance.now() - since) / 1_000).toFixed(0)} s\n${status}`)
    for (const host of HOSTS) expect(status).toMatch(new RegExp(`^${host} +up `, 'm'))
    expect(status).toEndWith('256 of 256 shards are served.')
  }, 1_800_000)

  test('agencies book through HAProxy', async () => {
    const secrets = readFileSync(`${folder}/secrets/nightledger.env`, 'utf8')
    const [, portalToken = ''] = /^PORTAL_TOKEN=(.*)$/m.exec(secrets) ?? []
    for (const slug of ['harbour', 'meadow', 'orchard', 'lagoon', 'summit', 'prairie'])
      keys.push(await agencyOf(ENTRANCE, { portalToken, slug, units: 1 }))
    expect(await bookForEach('2027-05-01', '2027-05-04')).toEqual(eachIs(201))
  }, 180_000)

  test('everything on the host of PostgreSQL’s primary is killed: each agency books again, and has its bookings from before', async () => {
    const members = JSON.parse(
      await run('docker compose exec postgres1 patronictl -c /etc/patroni/config.yml list -f json'),
    )
    lost = HOSTS.indexOf(members.find(({ Role }: { Role: string }) => Role === 'Leader').Member) + 1
    const node = await run(`docker compose ps --quiet nightledger${lost}`)
    const losing = run(ofHost(lost, LOSE_HOST))
    await eventually('its containers are killed', async () => {
      await Bun.sleep(250)
      return (await run(`docker inspect --format '{{.State.Running}}' ${node}`)) === 'false'
    })
    const since = performance.now()
    expect(await bookForEach('2027-06-01', '2027-06-04')).toEqual(eachIs(201))
    const seconds = (performance.now() - since) / 1_000
    console.log(`host${lost} had the primary: every agency had its answer ${seconds.toFixed(1)} s after it was lost`)
    expect(await bookForEach('2027-05-02', '2027-05-03')).toEqual(eachIs(409))
    const status = await losing
    expect(status).not.toContain(`host${lost} `)
    expect(status).toEndWith('256 of 256 shards are served.')
  }, 600_000)

  test('the host comes back, and all three nodes serve', async () => {
    const isWhole = async () => {
      await Bun.sleep(500)
      const text = await run(`docker compose exec nightledger${lost} nightledger cluster status`).catch(() => '')
      return text.match(/ up /g)?.length === 3 && text.endsWith('256 of 256 shards are served.')
    }
    await eventually('three nodes serve', isWhole, 300_000)
    expect(await bookForEach('2027-06-02', '2027-06-03')).toEqual(eachIs(409))
  }, 400_000)
})

/** Commands of the document, which lose the second host and ask the first, for another host. */
function ofHost(lost: number, script: string): string {
  const other = lost === 1 ? '2' : '1'
  return script.replace(
    /(nightledger|postgres|etcd)([12])\b/g,
    (_, part, number) => part + (number === '2' ? lost : other),
  )
}
