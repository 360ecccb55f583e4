/** Comments cite documents as `docs/contract.md#limits`, and benchmarks by their file: the file and the heading must exist. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Glob } from 'bun'

/** Not `sql/`: an applied migration keeps its bytes. */
const SOURCES = ['src/**/*.ts', 'test/**/*.{ts,js,py,php,go}', 'bench/**/*.ts', 'docs/**/*.yaml', 'clients/**/src/*.ts']

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'bench/**/*.md', 'clients/**/*.md']

/** A document in docs/ or a file in bench/, with a heading or without. */
const CITATION = /(?:\bdocs\/[\w./-]+\.(?:md|yaml)|(?<![\w./])bench\/[\w./-]+\.(?:md|ts|json))(?:#[\w-]+)?/g

/** The former way to cite: a document's name and a heading, which nothing checks. It may run over the end of a line. */
const UNCHECKED = /\b(?:[Cc]ontract|[Dd]esign),(?:\s|\*|\/\/)+(?:[A-Z]|\d\b|conventions\b).{0,40}/g

/** A link in a document, to a heading of this or another document. */
const LINK_TO_HEADING = /\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g

function read(path: string): string {
  return readFileSync(path, 'utf8')
}

function filesOf(patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => [...new Glob(pattern).scanSync('.')]).toSorted()
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#{1,6} (.+)$/gm)].map(([, text = '']) => text)
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Null if what is cited exists. */
function faultOf(citation: string): string | null {
  const [path = '', anchor] = citation.split('#')
  if (!existsSync(path)) return `${citation}: no such file`
  if (anchor === undefined) return null
  return anchorsOf(read(path)).has(anchor) ? null : `${citation}: no such heading`
}

function faultsIn(text: string): string[] {
  const cited = [...text.matchAll(CITATION)].map(([citation]) => faultOf(citation))
  const unchecked = [...text.matchAll(UNCHECKED)].map(([words]) => `${words}: cite it as docs/….md#heading`)
  return [...cited, ...unchecked].filter((fault) => fault !== null)
}

describe('citations', () => {
  const files = filesOf(SOURCES).filter((path) => !path.includes('node_modules'))

  test('name a file and a heading that exist', () => {
    expect(files.length).toBeGreaterThan(200)
    expect(files.flatMap((path) => faultsIn(read(path)).map((fault) => `${path}: ${fault}`))).toEqual([])
  })

  test('of a wrong file, a wrong heading, or without a file are found', () => {
    const citation = (name: string) => ['docs', name].join('/')
    const unchecked = (name: string, separator: string) => `(${name},${separator}Limits)`
    expect(faultsIn(citation('contract.md#limits'))).toEqual([])
    expect(faultsIn(`${citation('contract.md#post-bookingsidcancel')}, ${citation('design.md')}`)).toEqual([])
    expect(faultsIn(citation('contract.md#limit'))).toHaveLength(1)
    expect(faultsIn(citation('nowhere.md'))).toHaveLength(1)
    expect(faultsIn(['bench', 'nowhere.ts'].join('/'))).toHaveLength(1)
    expect(faultsIn(unchecked('contract', ' '))).toHaveLength(1)
    expect(faultsIn(unchecked('Contract', '\n * '))).toHaveLength(1)
    expect(faultsIn(unchecked('design', '\n// '))).toHaveLength(1)
  })
})

test('the picture of the architecture names folders that exist', () => {
  const named = [...read('docs/architecture.svg').matchAll(/>((?:src|sql)[\w/, ]*)</g)].flatMap(([, names = '']) =>
    names.split(', '),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !existsSync(name))).toEqual([])
})

describe.each(filesOf(DOCUMENTS))('%s', (path) => {
  test('links to headings that exist', () => {
    const missing = [...read(path).matchAll(LINK_TO_HEADING)].filter(([, target = '', anchor = '']) => {
      const file = target === '' ? path : normalize(join(dirname(path), target))
      return !existsSync(file) || (file.endsWith('.md') && !anchorsOf(read(file)).has(anchor))
    })
    expect(missing.map(([link]) => link)).toEqual([])
  })
})

test('the table of contents of docs/decisions.md links to every group, and every entry is in one and dated', () => {
  const [contents = '', ...groups] = read('docs/decisions.md').split(/^## /m)
  const linked = [...contents.matchAll(LINK_TO_HEADING)].map(([, , anchor]) => anchor)
  expect(groups.length).toBeGreaterThan(5)
  expect(linked).toEqual(groups.flatMap((group) => [...anchorsOf(`## ${group.split('\n')[0]}`)]))
  expect(contents).not.toMatch(/^### /m)
  const entries = groups.flatMap((group) => [...group.matchAll(/^### (.+)$/gm)].map(([, title = '']) => title))
  expect(entries.filter((title) => !/^\d{4}-\d\d-\d\d · ./.test(title))).toEqual([])
})
