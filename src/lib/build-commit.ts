/**
 * The commit of the build, from the environment of `npm run build`. Called as a macro: the bundler embeds the result, and the program never
 * runs git. `source` when run from source.
 */
export function buildCommit(): string {
  return process.env['NIGHTLEDGER_COMMIT'] || 'source'
}
