/**
 * A queue in which agencies take turns, and the members of an agency take turns within it. However many members one
 * agency has queued, every other agency gets a turn between two of them.
 */
export class FairTurns<Member extends { readonly agencyId: string }> {
  /** In order of their next turn: a Map keeps insertion order. */
  readonly #agencies = new Map<string, Set<Member>>()

  /** A member that is already queued keeps its place. */
  add(member: Member): void {
    const members = this.#agencies.get(member.agencyId)
    if (members === undefined) this.#agencies.set(member.agencyId, new Set([member]))
    else members.add(member)
  }

  delete(member: Member): void {
    const members = this.#agencies.get(member.agencyId)
    members?.delete(member)
    if (members?.size === 0) this.#agencies.delete(member.agencyId)
  }

  /** Removes and returns the next member of the next agency that `mayGo` accepts, and moves its agency to the end. */
  take(mayGo: (agencyId: string) => boolean): Member | undefined {
    for (const [agencyId, members] of this.#agencies) {
      if (!mayGo(agencyId)) continue
      const [member] = members
      if (member === undefined) continue
      this.#agencies.delete(agencyId)
      members.delete(member)
      if (members.size > 0) this.#agencies.set(agencyId, members)
      return member
    }
    return undefined
  }
}
