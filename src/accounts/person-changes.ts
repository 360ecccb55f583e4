/**
 * Changes of people on their way into the store. Each is in effect in memory before, and stays in effect if it cannot be stored; then storing
 * it is retried.
 *
 * In a cluster, the agency may meanwhile have been with another node. What that has changed of a person is not overwritten: the changes
 * from before are given up, as if this process had ended. Only a removal is not: it is permanent.
 *
 * - H3 A change holds from the moment it is made.
 */
import { AlreadyAnsweredError, WriteError } from '../core/bookings/write-error.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Person } from '../core/catalogue/people.ts'
import type { ChangeLine } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { Ended, PersonRows } from './person-rows.ts'
import type { PortalSessions } from './portal-sessions.ts'
import { RevocationNotStoredError, StoreRetries } from './store-retries.ts'

/** What is not known to be stored of a change, besides the person's state. */
interface Change {
  readonly ends: Ended
  readonly line: ChangeLine
  /** Why it is no longer to be stored: the same request has been answered already, or it was given up. */
  failure: WriteError | null
}

/** The changes of one person. */
interface Unstored {
  /** As all of them together leave the person. */
  person: Person
  /** Revision of the person in the database, unless a write of unknown outcome has raised it. */
  storedRevision: number
  /** Of the agency, in which the changes hold (Catalogue.termOf). */
  term: number | null
  /** Oldest first. */
  readonly changes: Set<Change>
}

interface PersonChangesDependencies {
  readonly catalogue: Pick<Catalogue, 'personById' | 'putPerson' | 'termOf'>
  readonly rows: Pick<PersonRows, 'updatePerson'>
  readonly sessions: Pick<PortalSessions, 'endAllOf'>
  readonly clock: Clock
}

export class PersonChanges {
  readonly #dependencies: PersonChangesDependencies
  /** By person. */
  readonly #turns = new KeyedTurns()
  readonly #storeRetries: StoreRetries
  /** By person. */
  readonly #unstored = new Map<string, Unstored>()

  constructor(dependencies: PersonChangesDependencies) {
    this.#dependencies = dependencies
    this.#storeRetries = new StoreRetries(dependencies.clock)
  }

  /** In any state, with the changes that are not stored yet. */
  personById(agencyId: string, id: string): Person | null {
    this.#resume(id)
    return this.#dependencies.catalogue.personById(agencyId, id)
  }

  /** Whether links or sessions that have ended may still be in the database. */
  isEnding(personId: string): boolean {
    return [...(this.#unstored.get(personId)?.changes ?? [])].some(({ ends }) => ends !== 'nothing')
  }

  /**
   * @param person based on what `personById` has just returned, with the next revision
   * @throws RevocationNotStoredError when it may not be stored yet
   */
  async make(person: Person, ends: Ended, line: ChangeLine): Promise<void> {
    const { catalogue, sessions } = this.#dependencies
    const { id, agencyId } = person
    catalogue.putPerson(person)
    if (ends !== 'nothing') sessions.endAllOf(id)
    const own: Change = { ends, line, failure: null }
    const unstored = this.#unstored.get(id)
    if (unstored === undefined) {
      const term = catalogue.termOf(agencyId)
      this.#unstored.set(id, { person, storedRevision: person.revision - 1, term, changes: new Set([own]) })
    } else {
      unstored.person = person
      unstored.changes.add(own)
    }
    try {
      await this.#turns.run(id, () => this.#store(id, own))
      if (own.failure !== null) throw own.failure
    } catch (error) {
      if (error instanceof AssertionError) throw error
      this.#storeRetries.later(id, () => this.#turns.run(id, () => this.#store(id)))
      throw new RevocationNotStoredError('person', { cause: error })
    }
  }

  /**
   * Runs a task between two changes of the person, when all before are stored.
   * @throws what storing them rejects with, or the task
   */
  between<T>(personId: string, task: () => Promise<T>): Promise<T> {
    return this.#turns.run(personId, async () => {
      await this.#store(personId)
      return task()
    })
  }

  /** In the turn of the person. @param last stores until this one, by default all */
  async #store(id: string, last = [...(this.#unstored.get(id)?.changes ?? [])].at(-1)): Promise<void> {
    while (last !== undefined) {
      this.#resume(id)
      const unstored = this.#unstored.get(id)
      // Each has its line of the audit trail, and may end something.
      const [next] = unstored?.changes ?? []
      if (unstored === undefined || next === undefined || !unstored.changes.has(last)) return
      const { person } = unstored
      next.failure = await this.#dependencies.rows
        .updatePerson(person, next.ends, next.line)
        .then(() => null, ifAnswered)
      unstored.storedRevision = person.revision
      unstored.changes.delete(next)
      if (unstored.changes.size === 0 && this.#unstored.get(id) === unstored) this.#unstored.delete(id)
    }
  }

  /** When the agency has come back, the changes that nobody else has made void take effect again. */
  #resume(id: string): void {
    const { catalogue, sessions } = this.#dependencies
    const unstored = this.#unstored.get(id)
    if (unstored === undefined) return
    const { person, changes, storedRevision } = unstored
    const term = catalogue.termOf(person.agencyId)
    if (term === null || term === unstored.term) return
    unstored.term = term
    const read = catalogue.personById(person.agencyId, id)
    if (read?.revision !== storedRevision) {
      for (const change of changes) {
        if (change.ends === 'everything' && read?.removedAt === null) continue
        change.failure = new WriteError('not_written', 'Cannot change a person: another process may have changed them')
        changes.delete(change)
      }
      if (read === null || changes.size === 0) {
        this.#unstored.delete(id)
        return
      }
      unstored.storedRevision = read.revision
      unstored.person = { ...read, email: null, removedAt: person.removedAt, revision: read.revision + 1 }
    }
    catalogue.putPerson(unstored.person)
    if (this.isEnding(id)) sessions.endAllOf(id)
  }
}

/** The same request has stored the change already, with its answer. */
function ifAnswered(error: unknown): AlreadyAnsweredError {
  if (error instanceof AlreadyAnsweredError) return error
  throw error
}
