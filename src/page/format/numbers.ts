/**
 * Numbers and their nouns, and amounts of money in minor units. How many digits the minor unit has is said by the service: `Intl`
 * disagrees with ISO 4217 for many currencies, and would be off by a hundred.
 */

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

export interface Currency {
  /** ISO 4217. */
  readonly currency: string
  readonly digits: number
}

/** `€1,240.50`. @param locale left out: the browser's language */
export function money(minorUnits: number, { currency, digits }: Currency, locale?: string): string {
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(decimalOf(minorUnits, digits))
}

/** `€1.2K`: for charts. */
export function shortMoney(minorUnits: number, { currency, digits }: Currency, locale?: string): string {
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    notation: 'compact',
    minimumFractionDigits: 0,
    maximumFractionDigits: 1,
  }).format(decimalOf(minorUnits, digits))
}

/** What an input shows for an amount: `1240.50`, and an empty text for null. */
export function moneyInput(minorUnits: number | null, digits: number): string {
  return minorUnits === null ? '' : decimalOf(minorUnits, digits)
}

/**
 * Reads an amount that a person typed, with a point or a comma: `1240`, `1240.5`, `1240,50`. Separators of thousands are not accepted:
 * `1.240` would mean two things.
 * @returns minor units; null when it is no such amount
 */
export function parseMoney(text: string, digits: number): number | null {
  const parts = /^(\d{1,12})(?:[.,](\d+))?$/.exec(text.trim())
  if (parts === null) return null
  const [, whole = '0', fraction = ''] = parts
  if (fraction.length > digits) return null
  return Number(whole) * 10 ** digits + Number(fraction.padEnd(digits, '0') || '0')
}

/** Exact, as a text: a quotient would not be. */
function decimalOf(minorUnits: number, digits: number): `${number}` {
  const sign = minorUnits < 0 ? '-' : ''
  const figures = String(Math.abs(minorUnits)).padStart(digits + 1, '0')
  const whole = figures.slice(0, figures.length - digits)
  return `${sign}${whole}${digits === 0 ? '' : `.${figures.slice(-digits)}`}` as `${number}`
}
