/**
 * - J8 Batches shrink wherever one statement does many things, down to the one at fault: after a statement about several members was
 *   cancelled, each of them goes alone until it gets through, and one that was cancelled alone holds up no other.
 */

/** Which members of batches go alone, and which of them are known to be at fault. */
export class HeldUp<Member> {
  /** Of batches that were cancelled: one of them is at fault, and it is not known which. */
  readonly #suspects = new Set<Member>()
  /** Cancelled alone; the least recently tried one first. */
  readonly #atFault = new Set<Member>()

  /** Nobody goes alone. */
  get isEmpty(): boolean {
    return this.#suspects.size === 0 && this.#atFault.size === 0
  }

  get suspects(): readonly Member[] {
    return [...this.#suspects]
  }

  /** The least recently tried one first. */
  get atFault(): readonly Member[] {
    return [...this.#atFault]
  }

  /** A statement about these was cancelled. */
  note(members: readonly Member[]): void {
    const [only] = members
    if (only !== undefined && members.length === 1) {
      this.#suspects.delete(only)
      this.#atFault.delete(only)
      this.#atFault.add(only)
    } else for (const member of members) if (!this.#atFault.has(member)) this.#suspects.add(member)
  }

  /** A statement about these got through. */
  clear(members: Iterable<Member>): void {
    for (const member of members) {
      this.#suspects.delete(member)
      this.#atFault.delete(member)
    }
  }

  goesAlone(member: Member): boolean {
    return this.#suspects.has(member) || this.#atFault.has(member)
  }

  isAtFault(member: Member): boolean {
    return this.#atFault.has(member)
  }
}
