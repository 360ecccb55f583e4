/** Numbers and their nouns. */

/** `12,345`. @param locale left out: the browser's language */
export function count(value: number, locale?: string): string {
  return new Intl.NumberFormat(locale).format(value)
}

/** `1 night`, `3 nights`. */
export function plural(value: number, noun: string, locale?: string): string {
  return `${count(value, locale)} ${value === 1 ? noun : `${noun}s`}`
}

/** `62%`. @param part from 0 to 1 */
export function percent(part: number, locale?: string): string {
  return new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }).format(part)
}
