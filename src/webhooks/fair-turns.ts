/**
 * Who is next, when agencies take turns, and within an agency its members. However many members one agency has waiting,
 * every other agency's turn comes after one of its own.
 */
export class FairTurns<Member extends { readonly agencyId: string }> {
  /** In order of their next turn: a Map keeps the order of insertion. */
  readonly #agencies = new Map<string, Set<Member>>()

  /** A member that waits already keeps its place. */
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

  /** The next member of the next agency that `mayGo`; it waits no longer, and its agency goes to the end. */
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
