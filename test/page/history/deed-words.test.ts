import { expect, test } from 'bun:test'
import { partnerDocument } from '../../../src/api/partner/partner-surface.ts'
import { PORTAL_OPERATIONS } from '../../../src/api/portal/portal-surface.ts'
import { isWrite } from '../../../src/http/operation.ts'
import { PROBLEMS } from '../../../src/http/problem-table.ts'
import { actionWords, OUTCOMES } from '../../../src/page/history/history-words.ts'

/** Of the partner's: asking for a price is no write. */
async function partnerWrites(): Promise<string[]> {
  const { paths } = JSON.parse(await partnerDocument()) as { paths: Record<string, Record<string, unknown>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    'post' in methods && !path.endsWith('/quote') ? [`POST ${path}`] : [],
  )
}

test('every write that the audit trail can show is told in words', async () => {
  const portal = PORTAL_OPERATIONS.filter(isWrite).map(({ method, path }) => `${method} ${path}`)
  const routes = [...portal, ...(await partnerWrites())]
  expect(routes.length).toBeGreaterThan(20)
  const wordless = routes.filter((route) => actionWords(route).past === 'sent a request')
  expect(wordless).toEqual([])
})

test('every code of a refusal is told in words', () => {
  // Reads are not in the trail.
  const codes = Object.keys(PROBLEMS).filter((code) => code !== 'CURSOR_EXPIRED' && code !== 'HISTORY_EXPIRED')
  expect(codes.filter((code) => !(code in OUTCOMES))).toEqual([])
})
