import { addNights, asNight, formatNight } from '../../src/core/domain/night.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import { type HttpAnswer, type HttpCall, send } from './http-call.ts'
import { TEST_PORTAL_TOKEN } from './service-process.ts'

const SLUG = 'changing'
const CHANGED_UNITS = 12
/** In the future: a partner's copy has no bookings that had ended when it began. */
const FIRST = asNight(Math.floor(Date.now() / 86_400_000) + 8)
const ARRIVALS = 3_000

interface Known {
  readonly id: string
  readonly isHold: boolean
  /** Rises with every change. */
  readonly version: number
}

/**
 * An agency and its partner that change bookings and prices at random, over whatever becomes of the service. What they wish for can be
 * repeated by the seed; how the answers interleave cannot.
 */
export class RandomChanges {
  /** Changes that the service has acknowledged, of bookings and of prices. */
  made = { bookings: 0, prices: 0 }
  readonly #baseUrl: () => string
  readonly #dice: SeededRandom
  readonly #bookings: Known[] = []
  #key = ''

  /** @param baseUrl asked again for every request */
  constructor(baseUrl: () => string, dice: SeededRandom) {
    this.#baseUrl = baseUrl
    this.#dice = dice
  }

  get count(): number {
    return this.made.bookings + this.made.prices
  }

  /** @returns the key that may read everything the changes are about */
  async prepare(): Promise<string> {
    const plan = { apiAccess: true, requestsPerMinute: 1_000_000, requestsPerMonth: 100_000_000 }
    const agency = { slug: SLUG, name: 'Changing', currency: 'EUR', timezone: 'Europe/Lisbon', plan }
    await this.#expectDone('', { json: agency })
    for (let n = 0; n < CHANGED_UNITS; n++) {
      const unit = { slug: `unit-${n}`, name: `Unit ${n}`, basePrice: 10_000, turnoverNights: n % 3 }
      await this.#expectDone(`/${SLUG}/units`, { json: unit })
    }
    const scopes = ['read:bookings', 'read:availability', 'read:rates', 'read:units', 'write:bookings']
    this.#key = (await this.#expectDone(`/${SLUG}/keys`, { json: { scopes } })).body.secret
    return this.#key
  }

  /** Makes changes until there are `count` in all. */
  async makeUpTo(count: number, { clients }: { clients: number }): Promise<void> {
    const client = async () => {
      while (this.count < count) {
        try {
          await this.#change()
        } catch {
          // The service is away. Whether the change was made is not known, so it does not count.
          await Bun.sleep(20)
        }
      }
    }
    await Promise.all(Array.from({ length: clients }, client))
  }

  async #change(): Promise<void> {
    const dice = this.#dice
    const roll = dice.next()
    if (roll < 0.04) return this.#changePrices()
    if (roll < 0.55 || this.#bookings.length === 0) return this.#book()
    const at = dice.below(this.#bookings.length)
    const [booking] = this.#bookings.splice(at, 1)
    if (booking === undefined) return
    const path = `/${SLUG}/bookings/${booking.id}`
    if (roll < 0.75) {
      if ((await this.#done(`${path}/cancel`, { json: {} })) !== null) this.made.bookings += 1
      return
    }
    const change = booking.isHold && dice.chance(0.5) ? { status: 'confirmed' } : this.#otherPlace()
    const version: number =
      (await this.#done(path, { method: 'PATCH', json: change }))?.booking.version ?? booking.version
    // A booking that is where it should go is not changed.
    if (version > booking.version) this.made.bookings += 1
    this.#bookings.push({ ...booking, version, isHold: booking.isHold && !('status' in change) })
  }

  async #book(): Promise<void> {
    const isHold = this.#dice.chance(0.2)
    const { status, body } = await send(`${this.#baseUrl()}/partner/v1/bookings`, {
      token: this.#key,
      json: { ...this.#unit(), ...this.#stay(), ...(isHold ? { status: 'option', holdHours: 48 } : {}) },
    })
    if (status >= 500) throw new Error(`Answered with ${status}`)
    if (status !== 201) return
    this.made.bookings += 1
    this.#bookings.push({ id: body.booking.id, isHold, version: 1 })
  }

  /** With night prices of their own, so that each is a change. */
  async #changePrices(): Promise<void> {
    const path = `/${SLUG}/units/${this.#unit().unit}`
    const price = this.#dice.int(1, 100_000)
    const { arrival: from, departure: to } = this.#stay(60)
    const season = { name: 'Season', from, to, nightlyPrice: price, minStay: this.#dice.int(1, 7) }
    const done = this.#dice.chance(0.5)
      ? await this.#done(path, { method: 'PATCH', json: { basePrice: price } })
      : await this.#done(`${path}/rates`, {
          method: 'PUT',
          json: { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] },
        })
    if (done !== null) this.made.prices += 1
  }

  #otherPlace(): object {
    return this.#dice.chance(0.7) ? this.#stay() : this.#unit()
  }

  #unit(): { unit: string } {
    return { unit: `unit-${this.#dice.below(CHANGED_UNITS)}` }
  }

  #stay(nightsMax = 4): { arrival: string; departure: string } {
    const arrival = addNights(FIRST, this.#dice.below(ARRIVALS))
    return { arrival: formatNight(arrival), departure: formatNight(addNights(arrival, this.#dice.int(1, nightsMax))) }
  }

  /** @returns the body, or null when it is refused. @throws Error when there is no answer, or the service fails */
  async #done(path: string, call: HttpCall): Promise<HttpAnswer['body'] | null> {
    const { status, body } = await this.#portal(path, call)
    if (status >= 500) throw new Error(`Answered with ${status}`)
    return status < 300 ? body : null
  }

  async #expectDone(path: string, call: HttpCall) {
    const answer = await this.#portal(path, call)
    if (answer.status >= 300) throw new Error(`Cannot prepare: ${answer.status} ${answer.text}`)
    return answer
  }

  #portal(path: string, call: HttpCall) {
    return send(`${this.#baseUrl()}/portal/v1/agencies${path}`, { token: TEST_PORTAL_TOKEN, ...call })
  }
}
