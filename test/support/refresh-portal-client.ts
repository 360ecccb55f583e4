/** `bun run test/support/refresh-portal-client.ts`: writes the types that the page calls the portal with anew. */
import { portalDocument } from '../../src/api/portal/portal-surface.ts'
import { writeClientTypes } from './client-types.ts'

await writeClientTypes({
  document: await portalDocument(),
  target: 'src/page/api/portal.gen.ts',
  script: 'test/support/refresh-portal-client.ts',
})
