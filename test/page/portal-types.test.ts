import { expect, test } from 'bun:test'
import { portalDocument } from '../../src/api/portal/portal-surface.ts'
import { DOCUMENT_HASH } from '../../src/page/api/portal.gen.ts'
import { documentHash } from '../support/partner-document-text.ts'

test("the page's types are those of the portal's document: `bun run test/support/refresh-portal-client.ts` makes them", async () => {
  expect(DOCUMENT_HASH).toBe(documentHash(await portalDocument()))
})
