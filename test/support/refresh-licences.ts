import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { licencesDocument } from './licences.ts'

writeFileSync(join(import.meta.dir, '../../docs/licences.md'), licencesDocument())
