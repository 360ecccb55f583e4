"""A partner's access to one agency."""

import ssl
from typing import Any, Dict, List, Optional, Sequence, cast

from . import types
from .changes import Changes
from .history import History
from .listing import Listing, by_number
from .resources import Bookings, DateIn, Groups, Guests, Units, given
from .sandbox import TestMode
from .transport import Call, CallOptions, Clock, Transport


class Quote(types.QuoteAnswer):
    """What a stay costs now. `stay`: what was asked; `tag`: stands for the price, and `book(at_price=…)` sends it."""

    stay: Dict[str, Any]
    tag: Optional[str]


class Nightledger:
    """
    key: an API key of the agency, `hr_live_…`, or `hr_test_…` for its sandbox.
    url: address of the service, without `/partner/v1`.
    timeout: seconds of each try; deadline: seconds of a call with all its tries and pauses.
    tries_max: 1: no call is repeated.
    cache_chars_max: how much is kept of answers that have an ETag. 0: nothing.
    May be used by several threads at once.
    """

    def __init__(
        self,
        key: str,
        url: str,
        *,
        timeout: float = 30.0,
        deadline: float = 120.0,
        tries_max: int = 4,
        cache_chars_max: int = 8_000_000,
        ssl_context: Optional[ssl.SSLContext] = None,
        clock: Optional[Clock] = None,
    ) -> None:
        http = Transport(key, url, timeout, deadline, tries_max, cache_chars_max, ssl_context, clock)
        self._http = http
        self.units = Units(http)
        self.bookings = Bookings(http)
        self.groups = Groups(http)
        self.guests = Guests(http)
        self.changes = Changes(http)
        self.history = History(http)
        self.test = TestMode(http)

    def close(self) -> None:
        """Closes the connections that wait for the next call."""
        self._http.close()

    def __enter__(self) -> 'Nightledger':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def me(self, options: Optional[CallOptions] = None) -> types.GetMeAnswer:
        """The agency, this key, its limits and what is left of them."""
        answer: types.GetMeAnswer = self._http.get(['me'], options)
        return answer

    def availability(
        self,
        *,
        unit: str,
        from_: DateIn,
        to: DateIn,
        as_of: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> types.GetAvailabilityAnswer:
        """The unavailable nights of a unit; with `as_of`, an instant in ISO 8601, as they were at that moment."""
        query = given(unit=unit, **{'from': from_}, to=to, asOf=as_of)
        answer: types.GetAvailabilityAnswer = self._http.get(['availability'], options, query)
        return answer

    def calendar(
        self,
        *,
        from_: DateIn,
        to: DateIn,
        units: Optional[Sequence[str]] = None,
        prices: Optional[bool] = None,
        restrictions: Optional[bool] = None,
        page_size: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> 'Listing[types.UnitCalendar, types.GetCalendarAnswer]':
        """Unavailable nights, prices and rules of many units, over at most 366 days."""
        query = given(
            **{'from': from_},
            to=to,
            units=None if units is None else ','.join(units),
            prices=prices,
            restrictions=restrictions,
            pageSize=page_size,
        )
        return Listing(
            lambda: by_number(lambda page: self._http.get(['calendar'], options, {**query, **page})), 'units', 'unit'
        )

    def search(
        self,
        *,
        arrival: Optional[DateIn] = None,
        departure: Optional[DateIn] = None,
        from_: Optional[DateIn] = None,
        to: Optional[DateIn] = None,
        nights: Optional[int] = None,
        adults: Optional[int] = None,
        children: Optional[int] = None,
        city: Optional[str] = None,
        area: Optional[str] = None,
        bedrooms: Optional[int] = None,
        max_total: Optional[int] = None,
        each: Optional[str] = None,
        sort: Optional[str] = None,
        extra_bed: Optional[bool] = None,
        page_size: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> 'Listing[types.Offer, types.SearchStaysAnswer]':
        """Stays that can be booked now, with their totals."""
        query = given(
            **{'from': from_},
            arrival=arrival,
            departure=departure,
            to=to,
            nights=nights,
            adults=adults,
            children=children,
            city=city,
            area=area,
            bedrooms=bedrooms,
            maxTotal=max_total,
            each=each,
            sort=sort,
            extraBed=extra_bed,
            pageSize=page_size,
        )
        return Listing(lambda: by_number(lambda page: self._http.get(['search'], options, {**query, **page})), 'offers')

    def quote(
        self,
        *,
        unit: str,
        arrival: DateIn,
        departure: DateIn,
        adults: Optional[int] = None,
        children: Optional[int] = None,
        extra_bed: Optional[bool] = None,
        options: Optional[CallOptions] = None,
    ) -> Quote:
        """Raises MinStayError, RestrictedError, NotFoundError."""
        stay = given(
            unit=unit, arrival=arrival, departure=departure, adults=adults, children=children, extraBed=extra_bed
        )
        body, tag = self._http.send(Call(('quote',), body=stay), options)
        return cast(Quote, {**body, 'stay': stay, 'tag': tag})

    def book(
        self,
        *,
        at_price: Optional[Quote] = None,
        unit: Optional[str] = None,
        arrival: Optional[DateIn] = None,
        departure: Optional[DateIn] = None,
        status: Optional[str] = None,
        adults: Optional[int] = None,
        children: Optional[int] = None,
        extra_bed: Optional[bool] = None,
        source_ref: Optional[str] = None,
        notes: Optional[str] = None,
        hold_hours: Optional[int] = None,
        guest: Optional[types.CreateBookingBodyGuest] = None,
        options: Optional[CallOptions] = None,
    ) -> types.Booking:
        """
        Books a stay: once, also over lost connections. Without `at_price`, unit, arrival and departure are required;
        with it, the stay is that of the quote, and is booked only if a quote of it would still be this one.
        Raises QuoteChangedError, BookingConflictError, TurnoverBlockConflictError, ExpectedExtensionConflictError,
        MinStayError, RestrictedError.
        """
        body = given(
            unit=unit,
            arrival=arrival,
            departure=departure,
            status=status,
            adults=adults,
            children=children,
            extraBed=extra_bed,
            sourceRef=source_ref,
            notes=notes,
            holdHours=hold_hours,
            guest=guest,
        )
        headers = {}
        if at_price is not None:
            body = {**at_price['stay'], **body}
            if at_price['tag'] is not None:
                headers['If-Match'] = at_price['tag']
        answer, _ = self._http.send(Call(('bookings',), headers=headers, body=body, write='keyed'), options)
        booking: types.Booking = answer['booking']
        return booking

    def fee_types(self, options: Optional[CallOptions] = None) -> List[types.FeeType]:
        """What can be added to the price of a stay."""
        return list(self._http.get(['fee-types'], options)['feeTypes'])

    def openapi(self, options: Optional[CallOptions] = None) -> Dict[str, Any]:
        """The OpenAPI document of the service."""
        return dict(self._http.get(['openapi.json'], options))
