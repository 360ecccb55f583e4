import { buildCommit } from './build-commit.ts' with { type: 'macro' }

/** As in package.json; a test compares them. */
export const VERSION = '1.0.0'

/** The full hash, with `-dirty` if files were changed since; `source`: not a build. */
export const COMMIT: string = buildCommit()

/** Which program this is, for processes that must all be the same one. */
export const PROGRAM = `${VERSION} (${COMMIT})`
