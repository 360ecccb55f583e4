/**
 * `bun run test/support/refresh-partner-client.ts`: writes the types of the partner surface anew, with openapi-typescript. That needs
 * TypeScript 5, and the project has a newer one without its compiler interface, so npx brings both for this one run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'
import { documentHash, partnerDocumentText } from './partner-document-text.ts'

const TARGET = 'test/contract/partner-client.gen.ts'

const text = await partnerDocumentText()
const folder = mkdtempSync(join(tmpdir(), 'nightledger-client-'))
try {
  const source = join(folder, 'openapi.json')
  const types = join(folder, 'types.ts')
  await Bun.write(source, text)
  await $`npx -y -p typescript@5.9.3 -p openapi-typescript@7.13.0 openapi-typescript ${source} -o ${types}`
  const header = [
    '// biome-ignore-all lint: generated',
    '// biome-ignore-all format: generated',
    '// biome-ignore-all assist: generated',
    `// Written by test/support/refresh-partner-client.ts from the document with this hash.`,
    `export const DOCUMENT_HASH = '${documentHash(text)}'`,
    '',
  ]
  await Bun.write(TARGET, header.join('\n') + (await Bun.file(types).text()))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
