import { expect, test } from 'bun:test'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeDeliveries } from '../events/webhooks/support/make-deliveries.ts'
import { startReceiver } from '../events/webhooks/support/receiver.ts'
import { programFile } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { TEST_PORTAL_TOKEN } from '../support/service-process.ts'
import { shellBlocksOf } from '../support/shell-blocks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startTestService } from '../support/test-service.ts'

const GUIDE = readFileSync(join(import.meta.dir, '../../docs/partner-guide.md'), 'utf8')
const folder = temporaryFolder('partner-guide')
const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'write:bookings']

/** Each line that the guide shows, as far as it is the same in every run. */
const linesOf = (text: string) =>
  text
    .replaceAll(/whsec_\S+/g, 'whsec_…')
    .replaceAll(/bkg_\S+/g, 'bkg_…')
    .replaceAll(/\d+ ms/g, 'ms')
    .replaceAll(/ +/g, ' ')
    .trim()
    .split('\n')

test('a developer listens, triggers events in a sandbox, and resends, as the guide shows', async () => {
  const service = await startTestService()
  const receiver = startReceiver(null)
  const live = await service.agency()
  await service.unit(live, { slug: 'sea-view' })
  const made = await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  const { slug } = made.body.agency
  const key = (await service.ask(`/agencies/${slug}/keys`, { name: 'Desk', scopes: SCOPES })).body.secret
  const endpoint = await service.ask(`/agencies/${slug}/webhook-endpoints`, { url: 'http://localhost:9/hooks' })

  writeFileSync(join(folder, 'nightledger'), `#!/bin/sh\nexec "${process.execPath}" run "${programFile()}" "$@"\n`)
  chmodSync(join(folder, 'nightledger'), 0o755)
  const env = {
    PATH: `${folder}:${process.env['PATH']}`,
    ...{ XDG_STATE_HOME: join(folder, 'state'), NIGHTLEDGER_URL: service.url, PORTAL_TOKEN: TEST_PORTAL_TOKEN },
    ...{ NIGHTLEDGER_AGENCY: slug, KEY: key, ENDPOINT: endpoint.body.webhookEndpoint.id },
  }
  const here = (text: string) => text.replaceAll('localhost:4000', `localhost:${receiver.port}`)
  const start = (script: string) => Bun.spawn(['bash', '-euc', here(script)], { env, stdout: 'pipe', stderr: 'pipe' })
  const [listen, ...others] = shellBlocksOf(GUIDE)
  const listening = start(`exec ${listen?.script}`)
  await eventually('it listens', () => service.ledger.changes.stats.waiting.streams === 1)
  for (const { script, output } of others) {
    if (script.includes('resend')) {
      await makeDeliveries(service.database.url, service.ledger.epoch)
      // The two that were cancelled or created, not the option before.
      await service.database.sql`
        update webhook_delivery d set status = 'dead', next_attempt_at = null
        where d.delivery_id in (select delivery_id from webhook_delivery order by seq desc limit 2)`
    }
    const run = start(script)
    const [stdout, stderr] = await Promise.all([run.stdout.text(), run.stderr.text()])
    expect([script, await run.exited, stderr.startsWith('Sent again') ? '' : stderr]).toEqual([script, 0, ''])
    expect(linesOf(stdout)).toEqual(expect.arrayContaining(linesOf(output ?? '')))
  }
  await eventually('all three are forwarded', () => receiver.received.length === 3)
  listening.kill('SIGINT')
  const shown = await listening.stdout.text()
  expect(linesOf(shown)).toEqual(expect.arrayContaining(linesOf(here(listen?.output ?? ''))))
  expect(await listening.exited).toBe(0)
  await receiver.stop()
  await service.close()
})
