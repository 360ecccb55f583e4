/** The route that CONTRIBUTING.md shows, taken from the document and served. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Admission } from '../../src/accounts/partner-access.ts'
import { PARTNER_DESCRIPTION } from '../../src/api/partner/partner-description.ts'
import type { PartnerDependencies } from '../../src/api/partner/partner-route.ts'
import { Inventory } from '../../src/core/catalogue/agency.ts'
import { surfaceDocument } from '../../src/http/openapi/document.ts'
import type { DescribedRoute } from '../../src/http/route.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { systemIds } from '../../src/lib/ids.ts'
import { RequestStats } from '../../src/observability/request-stats.ts'
import { AGENCY, sampleId, sampleUnit } from '../support/samples.ts'

const ADMISSION = {
  holder: { agency: AGENCY, key: { id: sampleId('key', 'a'), scopes: ['read:units'] } },
  rate: { allowed: true, limit: 60, remaining: 59, resetAtS: 0, retryAfterS: 0 },
  refusal: null,
} as unknown as Admission

/** The file that the document says to write, imported as if it were in `src/api/partner/`. */
async function exampleRoutes(): Promise<DescribedRoute<PartnerDependencies>[]> {
  const markdown = await Bun.file('CONTRIBUTING.md').text()
  const code = /```ts\n([\s\S]*?)```/.exec(markdown)?.[1] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-example-'))
  try {
    const file = join(folder, 'check-in.ts')
    const absolute = code.replaceAll(/from '(\.[^']+|@[^']+)'/g, (_, name: string) =>
      name.startsWith('.')
        ? `from '${resolve('src/api/partner', name)}'`
        : `from '${Bun.resolveSync(name, resolve('.'))}'`,
    )
    await Bun.write(file, absolute)
    return Object.values(await import(file)).flat() as DescribedRoute<PartnerDependencies>[]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('the route that CONTRIBUTING shows answers, refuses, and is described', async () => {
  const unit = sampleUnit()
  const dependencies = {
    ledger: {
      clock: systemClock,
      newId: systemIds,
      access: { admit: () => ADMISSION, takeAnswer: () => {} },
      catalogue: { inventory: async () => new Inventory([unit], []) },
    },
    requestStats: new RequestStats({ clock: systemClock, log: null }),
    onFailure: () => {},
  } as unknown as PartnerDependencies
  const routes = await exampleRoutes()
  expect(routes).toHaveLength(1)
  const [route] = routes
  const ask = async (slug: string) => {
    const response = await route?.serve(dependencies)(new Request(`http://localhost/partner/v1/units/${slug}/check-in`))
    return { status: response?.status, body: await response?.json() }
  }
  const { checkinTime, checkoutTime } = unit
  expect(await ask(unit.slug)).toEqual({ status: 200, body: { checkinTime, checkoutTime } })
  expect(await ask('no-such-unit')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  const document = await surfaceDocument(
    routes.map(({ operation }) => operation),
    PARTNER_DESCRIPTION,
  )
  expect(document).toContain('"operationId":"getCheckIn"')
})
