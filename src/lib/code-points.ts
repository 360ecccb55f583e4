/** Negative when `a` comes before `b` by code points. The operator `<` compares UTF-16 units, which puts an emoji before `ﬁ`. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [one, other] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (one !== other) return rankOf(one) - rankOf(other)
  }
  return a.length - b.length
}

/** Halves of a pair stand for code points above all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit
}

/** The same for texts that differ only in case. Upper case first: `ß` has none of its own, and `Σ` two in lower case. */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase()
}
