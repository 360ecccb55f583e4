import { describe, expect, test } from 'bun:test'
import { parse } from '@babel/parser'
import { checkSync } from 'recheck'
import { readSources } from './support/source-imports.ts'

/*
 * X1: no regular expression of ours takes more than linear time, whatever text it is given. JavaScriptCore backtracks without a limit, so
 * that one header of a hundred bytes could stop the process. All are looked at, not only those known to see a caller's bytes.
 */

interface Regex {
  readonly source: string
  readonly flags: string
}

const sources = await readSources()
const regexes = new Map<string, Regex & { places: string[] }>()
for (const { path } of sources) {
  const text = await Bun.file(`src/${path}`).text()
  for (const { source, flags, line } of regexesIn(text)) {
    const known = regexes.get(`/${source}/${flags}`) ?? { source, flags, places: [] }
    known.places.push(`src/${path}:${line}`)
    regexes.set(`/${source}/${flags}`, known)
  }
}

describe('the time of a regular expression grows with the text, not faster', () => {
  for (const [text, regex] of [...regexes].sort())
    test(`${text} of ${regex.places[0]}`, () => expect(costOf(regex)).toBe('linear'), 120_000)

  test('and of those that are put together from routes', () => {
    expect(costOf({ source: '^(?:/v1/units|/v1/units/[^/#]+|/v1/units/[^/#]+/quote)$', flags: '' })).toBe('linear')
  })

  test('others are written as a literal, so that they are seen here', () => {
    const made = sources.filter(({ code }) => /\bRegExp\(/.test(code)).map(({ path }) => path)
    expect(made).toEqual(['http/server/served-routes.ts'])
  })
})

describe('the check notices', () => {
  test.each([
    ['a blank that two rounds can read', String.raw`^"a"(?:[ \t]*,[ \t]*(?:"a")?)*[ \t]*$`],
    ['a search for an end from each beginning', '%.*$'],
    ['a repetition in a repetition', '^(a+)+$'],
  ])('%s', (_, source) => expect(costOf({ source, flags: '' })).not.toBe('linear'))

  test('a literal wherever it stands', () => {
    expect([...regexesIn('const a = b / c / d\nf(/x/u.test(c), b / /y[/]/)')]).toEqual([
      { source: 'x', flags: 'u', line: 2 },
      { source: 'y[/]', flags: '', line: 2 },
    ])
  })
})

function costOf({ source, flags }: Regex): string {
  const found = checkSync(source, flags, { timeout: 60_000 })
  if (found.status === 'safe') return 'linear'
  return found.status === 'vulnerable' ? `${found.complexity.type}, such as for ${found.attack.pattern}` : 'not known'
}

function* regexesIn(text: string): Generator<Regex & { line: number }> {
  const { tokens } = parse(text, {
    sourceType: 'module',
    tokens: true,
    plugins: ['typescript', 'jsx', 'explicitResourceManagement'],
  })
  for (const { type, value, loc } of tokens ?? [])
    if (type.label === 'regexp') yield { source: value.pattern, flags: value.flags, line: loc.start.line }
}
