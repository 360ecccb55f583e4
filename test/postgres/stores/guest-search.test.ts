import { describe, expect, test } from 'bun:test'
import { hasTrigram, indexedParts } from '../../../src/postgres/stores/guest-search.ts'

describe('the parts looked up', () => {
  test.each([
    ['digits before letters', 'Lastname99', ['e99', 'me9', 'Las', 'ast', 'stn', 'ame']],
    ['both ends of a word before its middle', 'cristina', ['cri', 'ina', 'ris', 'tin', 'ist', 'sti']],
    ['at most six trigrams', '+351960487713', ['351', '713', '519', '771', '196', '877']],
    ['the whole as well where the trigrams are few', 'stib.rei', ['sti', 'tib', 'rei', 'stib.rei']],
    ['the whole once', 'rui', ['rui']],
    ['the whole alone where no three letters follow one another', 'jo ng', ['jo ng']],
    ['what is before the @, then two of the domain', 'rui@example.com', ['rui', 'rui@', 'exa', 'ple']],
    ['the domain where it is all there is', '@rare.pt', ['rar', 'are', '@rare.pt']],
    ['the domain where nothing else has a trigram', 'r@verylong.pt', ['ver', 'ong', 'ery', 'lon', 'ryl', 'ylo']],
  ])('are %s', (_, search, parts) => {
    expect(indexedParts(search)).toEqual(parts)
  })
})

describe('a search', () => {
  test.each(['reis', 'a.b', ' re', 'jo ', 'João', '+35', 'x-y'])('%j has a trigram in every locale', (search) => {
    expect(hasTrigram(search)).toBe(true)
  })
  test.each(['zq', '---', 'çã', 'йку', '. -', '😀a'])('%j may have none', (search) => {
    expect(hasTrigram(search)).toBe(false)
  })
})
