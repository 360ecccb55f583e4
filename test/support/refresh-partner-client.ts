/** `bun run test/support/refresh-partner-client.ts`: writes the types of the partner surface anew. */
import { writeClientTypes } from './client-types.ts'
import { partnerDocumentText } from './partner-document-text.ts'

await writeClientTypes({
  document: await partnerDocumentText(),
  target: 'test/contract/partner-client.gen.ts',
  script: 'test/support/refresh-partner-client.ts',
})
