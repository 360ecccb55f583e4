/**
 * Equal parts of decoded rules as one object. The units of an agency mostly have the same weekday prices and discounts; lists of their
 * own for each were a quarter of a resident unit's memory (docs/decisions.md#speed). Decoded rules are never changed, so sharing
 * cannot be noticed.
 */
export class SharedValues<T extends object> {
  readonly #max: number
  readonly #byText = new Map<string, T>()

  /** @param max of values kept; when there are more, all are forgotten, and those in use stay with their users */
  constructor(max: number) {
    this.#max = max
  }

  /** The first value with this JSON text. Members in another order make another value. */
  shared(value: T): T {
    const text = JSON.stringify(value)
    const known = this.#byText.get(text)
    if (known !== undefined) return known
    if (this.#byText.size >= this.#max) this.#byText.clear()
    this.#byText.set(text, value)
    return value
  }
}
