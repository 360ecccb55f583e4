/**
 * Names as they are shown within a sentence. Partners may send any characters in them: one that turns the direction of the text, or
 * that nobody sees, could make a name look like another, or take the rest of the line along.
 */

/** Turn the direction of text (UAX #9), or are not seen. Joiners stay: Persian and emoji are written with them. */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu
/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
/** The text between them is a direction of its own. */
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ['\u2068', '\u2069']

/** The name without what nobody sees; one that is written from right to left leaves what stands beside it in its place. */
export function nameText(name: string): string {
  const seen = name.replaceAll(UNSEEN, '')
  return RIGHT_TO_LEFT.test(seen) ? `${FIRST_STRONG_ISOLATE}${seen}${POP_ISOLATE}` : seen
}
