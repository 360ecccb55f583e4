/** Numbers of one block share an array of bits. */
const BLOCK = 65_536

/** A set of non-negative integers that takes one bit each where they are dense: ten million take little more than a megabyte. */
export class NumberSet {
  readonly #blocks = new Map<number, Uint8Array>()

  add(n: number): void {
    const at = Math.floor(n / BLOCK)
    let block = this.#blocks.get(at)
    if (block === undefined) {
      block = new Uint8Array(BLOCK / 8)
      this.#blocks.set(at, block)
    }
    const bit = n % BLOCK
    block[bit >> 3] = (block[bit >> 3] ?? 0) | (1 << (bit & 7))
  }

  has(n: number): boolean {
    const bit = n % BLOCK
    return ((this.#blocks.get(Math.floor(n / BLOCK))?.[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }
}
