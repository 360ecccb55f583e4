import { expect, test } from 'bun:test'
import { nameText } from '../../../src/page/format/texts.ts'

test('a name that turns the direction of the text, or hides characters, is shown without them', () => {
  expect(nameText('Ana \u202eseiR')).toBe('Ana seiR')
  expect(nameText('Ma\u200bria\u2066\u2069\ufeff')).toBe('Maria')
  expect(nameText('Ana\r\nReis')).toBe('AnaReis')
  expect(nameText('Ma\u3164ri\u2800a\u{e0041}')).toBe('Maria')
})

test('a name that is written from right to left stands by itself', () => {
  expect(nameText('نور علي')).toBe('\u2068نور علي\u2069')
  expect(nameText('\u2069\u202eדוד')).toBe('\u2068דוד\u2069')
})

test.each(['Emma Lindqvist', 'José Ñandú', '李雷', '👩‍🚀 Sally', ''])('%p is shown as it is', (name) => {
  expect(nameText(name)).toBe(name)
})

test('joiners stay, which Persian is written with', () => {
  expect(nameText('می‌خواهم')).toContain('\u200c')
})
