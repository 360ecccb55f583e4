/** An invariant that a file states at its head has a row in docs/invariants.md, and the row names that file. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Glob } from 'bun'

/** ` * - U1 Journal first, …` or ` * W1  An attempt …` in the comment at the head of a file. */
const STATED = /^ \* (?:- )?([A-Z]\d+)\s/gm

test('docs/invariants.md has every invariant that a file states, and names the file', () => {
  const document = readFileSync('docs/invariants.md', 'utf8')
  const rows = new Map([...document.matchAll(/^\| ([A-Z]\d+) \|.*$/gm)].map(([row, number = '']) => [number, row]))
  const stated = [...new Glob('src/**/*.ts').scanSync('.')].flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(STATED)].map(([, number = '']) => ({ number, path })),
  )
  expect(stated.length).toBeGreaterThan(20)
  expect(stated.filter(({ number, path }) => !rows.get(number)?.includes(`\`${path}\``))).toEqual([])
})
