import { Changes } from './changes.ts'
import { History } from './history.ts'
import { byArrival, byNumber, Listing } from './listing.ts'
import { TestMode } from './test-mode.ts'
import { type CallOptions, type ClientOptions, Resource, Transport } from './transport.ts'
import type * as Types from './types.ts'

type Paged = 'page' | 'limit'
export interface CalendarParams extends Omit<Types.GetCalendarQuery, 'page' | 'units' | 'prices' | 'restrictions'> {
  readonly units?: readonly string[] | undefined
  readonly prices?: boolean | undefined
  readonly restrictions?: boolean | undefined
}
export interface SearchParams extends Omit<Types.SearchStaysQuery, 'page' | 'extraBed'> {
  readonly extraBed?: boolean | undefined
}
export type BookingsParams = Omit<Types.ListBookingsQuery, Paged>
export type GuestsParams = Omit<Types.ListGuestsQuery, Paged>

/** What a stay costs now. */
export interface Quote extends Types.QuoteAnswer {
  /** What was asked. */
  readonly stay: Types.QuoteStayBody
  /** Stands for the price of this stay: `book({ atPrice })` sends it. */
  readonly tag: string | null
}

/** With a quote, its stay need not be repeated. */
export type BookParams =
  | (Types.CreateBookingBody & { readonly atPrice?: undefined })
  | (Partial<Types.CreateBookingBody> & { readonly atPrice: Quote })

/** A partner's access to one agency. */
export class Nightledger extends Resource {
  declare readonly units: Units
  declare readonly bookings: Bookings
  declare readonly groups: Groups
  declare readonly guests: Guests
  declare readonly changes: Changes
  declare readonly history: History
  declare readonly test: TestMode

  constructor(options: ClientOptions) {
    const http = new Transport(options)
    super(http)
    this.units = new Units(http)
    this.bookings = new Bookings(http)
    this.groups = new Groups(http)
    this.guests = new Guests(http)
    this.changes = new Changes(http)
    this.history = new History(http)
    this.test = new TestMode(http)
  }

  /** The agency, this key, its limits and what is left of them. */
  me(options?: CallOptions): Promise<Types.GetMeAnswer> {
    return this.http.get(['me'], options)
  }

  /** The unavailable nights of a unit; with `asOf`, as they were at that moment. */
  availability(params: Types.GetAvailabilityQuery, options?: CallOptions): Promise<Types.GetAvailabilityAnswer> {
    return this.http.get(['availability'], options, params)
  }

  /** Unavailable nights, prices and rules of many units, over at most 366 days. */
  calendar(params: CalendarParams, options?: CallOptions): Listing<Types.UnitCalendar, Types.GetCalendarAnswer> {
    const query = { ...params, units: params.units?.join() }
    const read = (page: object) => this.http.get<Types.GetCalendarAnswer>(['calendar'], options, { ...query, ...page })
    return new Listing(
      () => byNumber(read),
      ({ units }) => units,
      ({ unit }) => unit,
    )
  }

  /** Stays that can be booked now, with their totals. */
  search(params: SearchParams, options?: CallOptions): Listing<Types.Offer, Types.SearchStaysAnswer> {
    const read = (page: object) => this.http.get<Types.SearchStaysAnswer>(['search'], options, { ...params, ...page })
    return new Listing(
      () => byNumber(read),
      ({ offers }) => offers,
    )
  }

  /** @throws MinStayError, RestrictedError, NotFoundError */
  async quote(stay: Types.QuoteStayBody, options?: CallOptions): Promise<Quote> {
    const { body, tag } = await this.http.send<Types.QuoteAnswer>({ path: ['quote'], body: stay }, options)
    return { ...body, stay, tag }
  }

  /**
   * Books a stay: once, also over lost connections.
   * @param params.atPrice only if a quote of the stay would still be this one
   * @throws QuoteChangedError, BookingConflictError, TurnoverBlockConflictError, ExpectedExtensionConflictError, MinStayError, RestrictedError
   */
  async book({ atPrice, ...params }: BookParams, options?: CallOptions): Promise<Types.Booking> {
    const { body } = await this.http.send<Types.CreateBookingAnswer>(
      {
        path: ['bookings'],
        body: { ...atPrice?.stay, ...params },
        write: 'keyed',
        ...(atPrice?.tag != null && { headers: { 'if-match': atPrice.tag } }),
      },
      options,
    )
    return body.booking
  }

  /** What can be added to the price of a stay. */
  async feeTypes(options?: CallOptions): Promise<Types.FeeType[]> {
    return (await this.http.get<Types.ListFeeTypesAnswer>(['fee-types'], options)).feeTypes
  }

  /** The OpenAPI document of the service. */
  openapi(options?: CallOptions): Promise<Types.GetOpenApiAnswer & Record<string, unknown>> {
    return this.http.get(['openapi.json'], options)
  }
}

class Units extends Resource {
  /** All units except archived ones, by name. */
  async list(options?: CallOptions): Promise<Types.Unit[]> {
    return (await this.http.get<Types.ListUnitsAnswer>(['units'], options)).units
  }

  async get(slug: string, options?: CallOptions): Promise<Types.Unit> {
    return (await this.http.get<Types.GetUnitAnswer>(['units', slug], options)).unit
  }
}

class Bookings extends Resource {
  /** The latest arrival first. What changes meanwhile may be missing or old: follow the changes from a cursor of before. */
  list(params: BookingsParams = {}, options?: CallOptions): Listing<Types.Booking, Types.ListBookingsAnswer> {
    const read = (place: object) =>
      this.http.get<Types.ListBookingsAnswer>(['bookings'], options, { ...params, ...place })
    return new Listing(
      () => byArrival(read),
      ({ bookings }) => bookings,
      ({ id }) => id,
    )
  }

  async get(id: string, options?: CallOptions): Promise<Types.Booking> {
    return (await this.http.get<Types.GetBookingAnswer>(['bookings', id], options)).booking
  }

  /** The changes of a booking, oldest first. */
  async history(id: string, options?: CallOptions): Promise<Types.BookingHistoryEntry[]> {
    return (await this.http.get<Types.GetBookingHistoryAnswer>(['bookings', id, 'history'], options)).history
  }

  /** Proves that the booking's entries are in the newest checkpoint (RFC 6962, section 2.1.1). */
  proof(id: string, options?: CallOptions): Promise<Types.GetBookingProofAnswer> {
    return this.http.get(['bookings', id, 'proof'], options)
  }

  /** Of a cancelled booking, changes nothing. */
  async cancel(id: string, params: Types.CancelBookingBody = {}, options?: CallOptions): Promise<Types.Booking> {
    return (await this.http.post<Types.CancelBookingAnswer>(['bookings', id, 'cancel'], params, options)).booking
  }
}

class Groups extends Resource {
  /** Books 2 to 20 stays, all or none. */
  book(params: Types.CreateGroupBody, options?: CallOptions): Promise<Types.CreateGroupAnswer> {
    return this.http.post(['bookings', 'group'], params, options)
  }

  /** Cancels what is not cancelled yet, all or none. */
  cancel(groupId: string, params: Types.CancelGroupBody = {}, options?: CallOptions): Promise<Types.CancelGroupAnswer> {
    return this.http.post(['bookings', 'group', groupId, 'cancel'], params, options)
  }
}

class Guests extends Resource {
  /** The newest first. */
  list(params: GuestsParams = {}, options?: CallOptions): Listing<Types.Guest, Types.ListGuestsAnswer> {
    const read = (page: object) => this.http.get<Types.ListGuestsAnswer>(['guests'], options, { ...params, ...page })
    return new Listing(
      () => byNumber(read),
      ({ guests }) => guests,
      ({ id }) => id,
    )
  }

  async get(id: string, options?: CallOptions): Promise<Types.GuestWithStays> {
    return (await this.http.get<Types.GetGuestAnswer>(['guests', id], options)).guest
  }
}
