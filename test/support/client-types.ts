/**
 * Writes the types of a surface with openapi-typescript. That needs TypeScript 5, and the project has a newer one without its compiler
 * interface, so npx brings both for this one run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'
import { documentHash } from './partner-document-text.ts'

/** @param options.script named in the head of the file as the way to write it anew */
export async function writeClientTypes(options: { document: string; target: string; script: string }): Promise<void> {
  const { document, target, script } = options
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-client-'))
  try {
    const source = join(folder, 'openapi.json')
    const types = join(folder, 'types.ts')
    await Bun.write(source, document)
    await $`npx -y -p typescript@5.9.3 -p openapi-typescript@7.13.0 openapi-typescript ${source} -o ${types}`
    const header = [
      '// biome-ignore-all lint: generated',
      '// biome-ignore-all format: generated',
      '// biome-ignore-all assist: generated',
      `// Written by ${script} from the document with this hash.`,
      `export const DOCUMENT_HASH = '${documentHash(document)}'`,
      '',
    ]
    await Bun.write(target, header.join('\n') + (await Bun.file(types).text()))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
