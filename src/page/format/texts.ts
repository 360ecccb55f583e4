/** Texts that partners send, such as a guest's name and address. They are not to be trusted. */

/** Turn the direction of text (UAX #9), or are not seen. Joiners stay: Persian and emoji are written with them. */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
/** The text between them is a direction of its own. */
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ['\u2068', '\u2069']

/**
 * A name as it is shown within a sentence. A character that turns the direction of the text, or that nobody sees, could make a name look
 * like another, or take the rest of the line along: it is left out. A name that is written from right to left leaves what stands beside
 * it in its place.
 */
export function nameText(name: string): string {
  const seen = name.replaceAll(UNSEEN, '')
  return RIGHT_TO_LEFT.test(seen) ? `${FIRST_STRONG_ISOLATE}${seen}${POP_ISOLATE}` : seen
}

/** `mailto:` with this one recipient: an address may have a `?` in it, and what follows would be other recipients and a text. */
export function mailLink(email: string): string {
  const at = email.lastIndexOf('@')
  return `mailto:${encodeURIComponent(email.slice(0, at))}@${encodeURIComponent(email.slice(at + 1))}`
}

/** `tel:` with the digits of a number, and nothing else that is in it. */
export function phoneLink(phone: string): string {
  return `tel:${phone.replaceAll(/[^+\d]/g, '')}`
}

/** `Poland` for `PL`. Nationalities are free texts: what is no code of a country is shown as it is. */
export function countryText(text: string, locale?: string): string {
  if (!/^[A-Z]{2}$/.test(text)) return text
  return (
    new Intl.DisplayNames(locale === undefined ? [] : [locale], { type: 'region', fallback: 'code' }).of(text) ?? text
  )
}
