import { createInterface } from 'node:readline'
import { playTypescript } from './play-typescript.ts'

/*
 * Plays cases with the TypeScript client in Node, whose `fetch` is not that of Bun: a JSON line in, a JSON line out.
 */

for await (const line of createInterface({ input: process.stdin })) {
  const { url, key, case: each } = JSON.parse(line)
  console.log(JSON.stringify({ ...(await playTypescript(url, each, key)), shown: '' }))
}
