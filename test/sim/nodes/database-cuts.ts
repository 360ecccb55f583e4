import { ANSWER_MS_MAX, ASK_EVERY_MS, GIVE_UP_AFTER_MS, MISSED_AFTER_MS } from '../../../src/cluster/database-reach.ts'
import { LEASE_TTL_S } from '../../../src/cluster/lease-keeper.ts'
import { SHARDS } from '../../../src/core/journal/shard.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import type { NodesClients } from './nodes-clients.ts'
import type { SimNode } from './sim-node.ts'

const LOOK_EVERY_MS = 500
/**
 * Then the shards are free and others acquire them, though etcd's answers are lost now and then. A second node that misses the database may
 * have claimed some before it gave up: its statement waits for its answer, and a second later the claim goes.
 */
const TAKEN_MS_MAX = 8_000
/** By which two clocks differ in speed, at most. */
const SPEED = 1.02
/**
 * A node that alone is cut off from the database has given its shards up, and others serve them. It sees the end of each of these times
 * only when its next question is answered, or is not.
 */
const TAKEN_OVER_MS_MAX =
  (MISSED_AFTER_MS + GIVE_UP_AFTER_MS + 3 * (ASK_EVERY_MS + ANSWER_MS_MAX) + TAKEN_MS_MAX) * SPEED
/** A node that etcd does not hear of any more has lost its shards to others. etcd notices up to half a second late. */
const LEASE_TAKEN_MS_MAX = (LEASE_TTL_S * 1_000 + 500 + TAKEN_MS_MAX) * SPEED
/** An outage reaches all nodes within this time. */
const APART_MS_MAX = 1_000

/** Nodes that are cut off from the database for long, one, some or all of them, while nothing else is wrong. Clients continue. */
export class DatabaseCuts {
  readonly broken: string[] = []
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  readonly #clients: NodesClients

  constructor(options: { clock: FakeClock; dice: SeededRandom; clients: NodesClients }) {
    this.#clock = options.clock
    this.#dice = options.dice
    this.#clients = options.clients
  }

  /** @param nodes all of them, which have shared the shards */
  async run(nodes: readonly SimNode[]): Promise<void> {
    const dice = this.#dice
    const first = dice.below(nodes.length)
    const some = [...nodes.slice(first), ...nodes.slice(0, first)]
    const roll = dice.below(5)
    if (roll < 2) await this.#some(some.slice(0, 1), some.slice(1))
    else if (roll < 3) await this.#some(some.slice(0, 2), some.slice(2))
    else if (roll < 4) await this.#someAndEtcd(some.slice(0, 1), some.slice(1))
    else await this.#all(some)
  }

  /** Of those that reach it, each shard gets an owner. */
  async #some(cut: readonly SimNode[], others: readonly SimNode[]): Promise<void> {
    const ends = cut.map((node) => node.cutOff(['database']))
    await this.#pass(this.#longTime(), (passedMs) => {
      if (passedMs >= TAKEN_OVER_MS_MAX) this.#expectServedBy(others, `${namesOf(cut)} cannot reach the database`)
    })
    for (const end of ends) end()
  }

  /** Before it gives its shards up, the node loses etcd too: it cannot tell the others, and its lease ends. */
  async #someAndEtcd(cut: readonly SimNode[], others: readonly SimNode[]): Promise<void> {
    const ends = cut.map((node) => node.cutOff(['database']))
    const etcdAfterMs = this.#dice.below(MISSED_AFTER_MS + GIVE_UP_AFTER_MS)
    const dueMs = etcdAfterMs + LOOK_EVERY_MS + LEASE_TAKEN_MS_MAX
    let isCut = false
    await this.#pass(this.#longTime(), (passedMs) => {
      if (!isCut && passedMs >= etcdAfterMs) ends.push(...cut.map((node) => node.cutOff(['etcd'])))
      isCut = passedMs >= etcdAfterMs
      if (passedMs >= dueMs) this.#expectServedBy(others, `${namesOf(cut)} cannot reach the database, nor etcd`)
    })
    for (const end of ends) end()
  }

  /** Nothing moves, since nobody could do better; until one of them reaches the database again. */
  async #all(nodes: readonly SimNode[]): Promise<void> {
    const before = ownersOf(nodes)
    const ends: (() => void)[] = []
    for (const node of nodes) {
      ends.push(node.cutOff(['database']))
      await this.#clock.advance(this.#dice.below(APART_MS_MAX / nodes.length))
    }
    await this.#pass(this.#longTime(), () => this.#expectSame(before, nodes))
    const [end, ...others] = ends
    end?.()
    if (this.#dice.chance(0.3)) {
      await this.#pass(TAKEN_OVER_MS_MAX + LOOK_EVERY_MS, (passedMs) => {
        if (passedMs >= TAKEN_OVER_MS_MAX)
          this.#expectServedBy(nodes.slice(0, 1), `${namesOf(nodes.slice(1))} cannot reach the database`)
      })
    }
    for (const other of others) other()
  }

  async #pass(ms: number, look: (passedMs: number) => void): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += LOOK_EVERY_MS) {
      if (this.#dice.chance(0.5)) this.#clients.command()
      if (this.#dice.chance(0.2)) this.#clients.read()
      await this.#clock.advance(LOOK_EVERY_MS)
      look(passedMs + LOOK_EVERY_MS)
    }
  }

  #longTime(): number {
    return 15_000 + this.#dice.below(25_000)
  }

  #expectServedBy(nodes: readonly SimNode[], why: string): void {
    const wrong = ownersOf(nodes).filter((names) => names === '').length
    if (wrong > 0) this.broken.push(`C10: though ${namesOf(nodes)} can, nobody serves ${wrong} shards while ${why}`)
  }

  #expectSame(before: readonly string[], nodes: readonly SimNode[]): void {
    const moved = ownersOf(nodes).filter((names, shard) => names !== before[shard]).length
    if (moved > 0) this.broken.push(`C10: ${moved} shards moved though no node reaches the database`)
  }
}

/** By shard: the names of the nodes that serve it. */
function ownersOf(nodes: readonly SimNode[]): string[] {
  return Array.from({ length: SHARDS }, (_, shard) => namesOf(nodes.filter((node) => node.ownerOf(shard) === 'self')))
}

function namesOf(nodes: readonly SimNode[]): string {
  return nodes.map(({ name }) => name).join(' and ')
}
