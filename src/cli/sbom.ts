import type { Command } from 'commander'
import { makeSbom } from './make-sbom.ts' with { type: 'macro' }
import type { Terminal } from './terminal.ts'

const SBOM: string = makeSbom()

/** `sbom`: prints the software bill of materials. */
export function addSbom(sbom: Command, terminal: Terminal): void {
  sbom.action(() => terminal.out(`${JSON.stringify(JSON.parse(SBOM), null, 2)}\n`))
}
