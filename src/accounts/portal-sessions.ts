/**
 * The sessions of the portal's page (docs/design.md#sessions). A session stands for a person, or for the token that it was opened with, and
 * is worth no more than that: each request looks at the person or the token again. All of them are in memory, by the hash of their secret. One is stored before
 * its cookie is given out. When it ends, it ends here first and is then deleted, so that ending never waits for the database.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Catalogue, Member } from '../core/catalogue/catalogue.ts'
import type { Instant } from '../core/domain/booking.ts'
import type { Clock } from '../lib/clock.ts'
import { HOUR_MS, MINUTE_MS } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { FlushTimer } from './flush-timer.ts'
import { isMemberValid } from './secrets.ts'

/** A session that nobody has used for longer has ended. */
export const SESSION_IDLE_MS_MAX = 12 * HOUR_MS
/** Of one person or token, and of the operator. The one that was not used for longest ends when another is opened. */
export const SESSIONS_PER_MEMBER_MAX = 50
/**
 * Of one agency, about 1 KB each. Beyond it, only the agency's own sessions end: one limit for the whole process would
 * let one agency sign out the others and the operator.
 */
export const SESSIONS_PER_AGENCY_MAX = 500
/** When a session was last used is stored at most this often. After a restart it may end that much earlier, and never later. */
const SEEN_EVERY_MS = 5 * MINUTE_MS
const SWEEP_EVERY_MS = MINUTE_MS
const FLUSH_MS = 500

const SECRET_BYTES = 32
/** 32 bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

/** Whom a session stands for. */
export type SessionHolder =
  /** `id`: of the access token or the person. */
  | { readonly kind: Member['kind']; readonly agencyId: string; readonly id: string }
  /** `tokenHmac`: of the operator's token, with the session's secret as the key: it says nothing to whoever reads the database. */
  | { readonly kind: 'operator'; readonly tokenHmac: string }

/** Whose sessions are counted and listed together. */
type SessionOwner = { readonly kind: 'operator' } | { readonly kind: Member['kind']; readonly id: string }

/** What a session was opened with, as its holder sees it in the list of their sessions. */
export interface SessionOrigin {
  /** The `User-Agent`, cut to `DEVICE_LENGTH_MAX`; empty when there was none. */
  readonly device: string
  /** Of the client (client-address.ts). */
  readonly address: string
  /** `link`: one that signs in, from the provider or the operator. An invitation is used with a `passkey`. */
  readonly way: 'token' | 'passkey' | 'link'
}

const DEVICE_LENGTH_MAX = 200

/** A session as it is stored. */
export interface StoredSession extends SessionOrigin {
  /** `ses_…`: names it to its holder, and opens nothing. */
  readonly id: string
  /** Of its secret, lower-case hex. */
  readonly sha256: string
  readonly holder: SessionHolder
  readonly createdAt: Instant
  readonly seenAt: Instant
}

export interface Session extends StoredSession {
  seenAt: Instant
  /** As it is stored. */
  storedSeenAt: Instant
}

type EndedSession = Pick<StoredSession, 'id' | 'sha256' | 'holder'>

/** What is written of sessions that exist already. */
export interface SessionsToKeep {
  readonly seen: readonly { readonly sha256: string; readonly seenAt: Instant }[]
  /** To be deleted. */
  readonly ended: readonly string[]
  /** Those last used before are deleted as well. */
  readonly idleSince: Instant
}

/** The port that sessions are stored through. Each of its writes is repeated without harm. */
export interface SessionRows {
  insert(session: StoredSession): Promise<void>
  keep(what: SessionsToKeep): Promise<void>
}

export class PortalSessions {
  readonly #rows: SessionRows
  readonly #catalogue: Pick<Catalogue, 'member'>
  readonly #clock: Clock
  readonly #newId: IdSource
  /** By hash; the one that was not used for longest comes first, to five minutes. */
  readonly #open = new Map<string, Session>()
  /** The same by person or token, and by agency. */
  readonly #byOwner = new Map<string, Set<Session>>()
  readonly #seen = new Set<Session>()
  /** Ended, and perhaps still stored, by hash. */
  readonly #ended = new Map<string, EndedSession>()
  /** One for each read in progress of what is stored: the hashes of what may be in its answer, but has ended. */
  readonly #endedMeanwhile = new Set<Set<string>>()
  readonly #timer: FlushTimer
  #cancelSweep = () => {}

  constructor(options: {
    rows: SessionRows
    catalogue: Pick<Catalogue, 'member'>
    clock: Clock
    newId: IdSource
    /** Called for each write that has failed. It is repeated. */
    onFailure: (error: unknown) => void
  }) {
    this.#rows = options.rows
    this.#catalogue = options.catalogue
    this.#clock = options.clock
    this.#newId = options.newId
    this.#timer = new FlushTimer({
      flushed: { isDirty: () => this.#seen.size > 0 || this.#ended.size > 0, write: () => this.#write() },
      clock: options.clock,
      everyMs: FLUSH_MS,
      onFailure: options.onFailure,
    })
  }

  get count(): number {
    return this.#open.size
  }

  /** As `adopt`, and begins to sweep. */
  start(stored: readonly StoredSession[]): void {
    this.adopt(stored)
    this.sweep()
  }

  /** Takes over what is stored, except what has ended meanwhile. */
  adopt(stored: readonly StoredSession[]): void {
    for (const session of stored.toSorted((a, b) => a.seenAt - b.seenAt)) {
      const { holder } = session
      if (holder.kind !== 'operator' && this.#memberOf(holder) === null) this.#delete(session)
      else if (!this.#open.has(session.sha256) && !this.#ended.has(session.sha256))
        this.#add({ ...session, storedSeenAt: session.seenAt })
    }
  }

  /**
   * As `adopt`, of what `read` returns. What ends in the meantime may be in it, and does not come back.
   * @throws what `read` rejects with
   */
  async adoptFrom(read: () => Promise<readonly StoredSession[]>): Promise<void> {
    const ended = new Set(this.#ended.keys())
    this.#endedMeanwhile.add(ended)
    try {
      const stored = await read()
      this.adopt(stored.filter(({ sha256 }) => !ended.has(sha256)))
    } finally {
      this.#endedMeanwhile.delete(ended)
    }
  }

  /**
   * A session of the operator, as it is stored now: of several nodes, any may have opened, used or ended it.
   * @param stored null when there is none
   */
  refresh(sha256: string, stored: StoredSession | null): void {
    const known = this.#open.get(sha256)
    if (stored === null) {
      if (known !== undefined) this.#remove(known)
    } else if (known === undefined) this.adopt([stored])
    else if (stored.seenAt > known.seenAt) known.seenAt = stored.seenAt
  }

  /** Another process has these agencies now, with their sessions: here they are unknown, and continue there. */
  forget(isIncluded: (agencyId: string) => boolean): void {
    for (const session of [...this.#open.values()]) {
      const { holder } = session
      if (holder.kind !== 'operator' && isIncluded(holder.agencyId)) this.#remove(session)
    }
  }

  /**
   * Makes everything durable that is not yet.
   * @throws what the database rejects with; it is repeated
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * Opens a session with a secret that nobody has known before.
   * @param by the person or the access token, or the operator's token as it was sent
   * @returns the secret: it is in this answer and nowhere else
   * @throws what the database rejects with; then there is no session
   */
  async open(
    by: Member | { readonly operatorToken: string },
    { device, ...from }: SessionOrigin,
  ): Promise<{ session: Session; secret: string }> {
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    const now = this.#clock.now()
    const holder: SessionHolder =
      'operatorToken' in by
        ? { kind: 'operator', tokenHmac: hmacOf(secret, by.operatorToken) }
        : { kind: by.kind, agencyId: by.agency.id, id: by.member.id }
    const origin = { device: device.slice(0, DEVICE_LENGTH_MAX).toWellFormed(), ...from }
    const stored = { id: this.#newId('ses'), sha256: sha256Of(secret), holder, ...origin, createdAt: now, seenAt: now }
    await this.#rows.insert(stored)
    const session: Session = { ...stored, storedSeenAt: now }
    this.#add(session)
    return { session, secret }
  }

  /** The open session with this secret. It says nothing about its holder. Null for any other text. */
  find(secret: string): Session | null {
    const session = SECRET.test(secret) ? this.#open.get(sha256Of(secret)) : undefined
    return session !== undefined && this.isOpen(session) ? session : null
  }

  isOpen(session: Session): boolean {
    return this.#open.get(session.sha256) === session && !this.#isIdle(session)
  }

  /** Whether a session of the operator was opened with this token. */
  isOfOperator({ holder }: Session, secret: string, operatorToken: string): boolean {
    if (holder.kind !== 'operator') return false
    return timingSafeEqual(Buffer.from(holder.tokenHmac, 'hex'), Buffer.from(hmacOf(secret, operatorToken), 'hex'))
  }

  /** It is being used. */
  touch(session: Session): void {
    const now = this.#clock.now()
    session.seenAt = now
    // Also if the clock was set back: otherwise it would be stored as used in the future.
    if (Math.abs(now - session.storedSeenAt) < SEEN_EVERY_MS) return
    session.storedSeenAt = now
    this.#remove(session)
    this.#add(session)
    this.#seen.add(session)
    this.#timer.wake()
  }

  /** From this moment on, it is refused. */
  end(session: Session): void {
    if (this.#remove(session)) this.#delete(session)
  }

  /** The sessions of the same holder that have ended, and may be stored still. */
  unstoredEndsOf(holder: SessionOwner): EndedSession[] {
    return [...this.#ended.values()].filter((ended) => ownerIdOf(ended.holder) === ownerIdOf(holder))
  }

  /** The open sessions of the same holder, the last used first. */
  like(holder: SessionOwner): Session[] {
    const all = [...(this.#byOwner.get(ownerIdOf(holder)) ?? [])]
    return all.filter((session) => this.isOpen(session)).sort((a, b) => b.seenAt - a.seenAt)
  }

  /**
   * All sessions of an agency, a person or a token end. Those of an agency do not come back with it.
   * @param except this one continues
   */
  endAllOf(ownerId: string, except: Session | null = null): void {
    for (const session of [...(this.#byOwner.get(ownerId) ?? [])]) if (session !== except) this.end(session)
  }

  endBySecret(secret: string): void {
    const session = SECRET.test(secret) ? this.#open.get(sha256Of(secret)) : undefined
    if (session !== undefined) this.end(session)
  }

  /**
   * Ends the session with this secret, and stores that; once more if it has ended already, but may be stored still.
   * @throws what the database rejects with: the session is refused anyway, and storing it is repeated
   */
  async endStored(secret: string): Promise<void> {
    this.endBySecret(secret)
    if (SECRET.test(secret) && this.#ended.has(sha256Of(secret))) await this.#timer.flush()
  }

  /**
   * Stores that these have ended.
   * @throws as `endStored`
   */
  async storeEndsOf(sessions: readonly EndedSession[]): Promise<void> {
    if (sessions.some(({ sha256 }) => this.#ended.has(sha256))) await this.#timer.flush()
  }

  /** Ends what has not been used, or whose holder is no longer valid. */
  sweep(): void {
    this.#cancelSweep()
    const now = this.#clock.now()
    for (const session of [...this.#open.values()]) {
      // Another node may have seen the operator since: the database knows when its session has ended.
      if (this.#isIdle(session) && session.holder.kind === 'operator') this.#remove(session)
      else if (this.#isIdle(session) || !this.#hasValidHolder(session, now)) this.end(session)
    }
    this.#cancelSweep = this.#clock.after(SWEEP_EVERY_MS, () => this.sweep())
  }

  /** Writes what is not stored yet, for the last time. */
  async stop(): Promise<void> {
    this.#cancelSweep()
    await this.#timer.stop()
  }

  #isIdle({ seenAt }: Session): boolean {
    return this.#clock.now() - seenAt > SESSION_IDLE_MS_MAX
  }

  #hasValidHolder({ holder }: Session, now: number): boolean {
    if (holder.kind === 'operator') return true
    const member = this.#memberOf(holder)
    return member !== null && isMemberValid(member, now)
  }

  #memberOf({ kind, agencyId, id }: Exclude<SessionHolder, { readonly kind: 'operator' }>): Member | null {
    return this.#catalogue.member(kind, agencyId, id)
  }

  #add(session: Session): void {
    for (const { id, sessionsMax } of ownersOf(session)) {
      const [longestUnused] = this.#byOwner.get(id) ?? []
      if (longestUnused !== undefined && (this.#byOwner.get(id)?.size ?? 0) >= sessionsMax) this.end(longestUnused)
      // Again: the last of them may have ended just before.
      this.#byOwner.set(id, (this.#byOwner.get(id) ?? new Set()).add(session))
    }
    this.#open.set(session.sha256, session)
  }

  #remove(session: Session): boolean {
    if (this.#open.get(session.sha256) !== session) return false
    this.#open.delete(session.sha256)
    this.#seen.delete(session)
    for (const { id } of ownersOf(session)) {
      const others = this.#byOwner.get(id)
      others?.delete(session)
      if (others?.size === 0) this.#byOwner.delete(id)
    }
    return true
  }

  #delete(session: EndedSession): void {
    this.#ended.set(session.sha256, session)
    for (const ended of this.#endedMeanwhile) ended.add(session.sha256)
    this.#timer.wake()
  }

  async #write(): Promise<void> {
    const seen = [...this.#seen]
    const ended = [...this.#ended.keys()]
    this.#seen.clear()
    try {
      const idleSince = this.#clock.now() - SESSION_IDLE_MS_MAX
      await this.#rows.keep({
        ended,
        idleSince,
        seen: seen.map(({ sha256, storedSeenAt }) => ({ sha256, seenAt: storedSeenAt })),
      })
    } catch (error) {
      for (const session of seen) if (this.#open.get(session.sha256) === session) this.#seen.add(session)
      throw error
    }
    for (const sha256 of ended) this.#ended.delete(sha256)
  }
}

/** Whose shares a session takes a place of. */
function ownersOf({ holder }: Session): readonly { readonly id: string; readonly sessionsMax: number }[] {
  const own = { id: ownerIdOf(holder), sessionsMax: SESSIONS_PER_MEMBER_MAX }
  return holder.kind === 'operator' ? [own] : [own, { id: holder.agencyId, sessionsMax: SESSIONS_PER_AGENCY_MAX }]
}

function ownerIdOf(holder: SessionOwner): string {
  return holder.kind === 'operator' ? 'operator' : holder.id
}

function sha256Of(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** Of the token, with the secret as the key: 256 random bits, of which only the hash is stored. */
function hmacOf(secret: string, operatorToken: string): string {
  return createHmac('sha256', secret).update(operatorToken).digest('hex')
}
