"""A partner's access to one agency."""

import datetime
import ssl
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import types
from .changes import Changes
from .listing import Listing, by_arrival, by_number
from .sandbox import TestMode
from .transport import Call, CallOptions, Clock, Transport

# `YYYY-MM-DD`, or a date.
DateIn = Union[str, datetime.date]


class Quote(types.QuoteAnswer):
    """What a stay costs now. `stay`: what was asked; `tag`: stands for the price, and `book(at_price=…)` sends it."""

    stay: Dict[str, Any]
    tag: Optional[str]


def _given(**members: Any) -> Dict[str, Any]:
    """Without those that were left out, and in the names of the API."""
    return {name: _sent(value) for name, value in members.items() if value is not None}


def _sent(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_sent(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _sent(member) for name, member in value.items()}
    return value.isoformat()[:10] if isinstance(value, datetime.date) else value


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
        query = _given(unit=unit, **{'from': from_}, to=to, asOf=as_of)
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
        query = _given(
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
        query = _given(
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
        stay = _given(
            unit=unit, arrival=arrival, departure=departure, adults=adults, children=children, extraBed=extra_bed
        )
        body, tag = self._http.send(Call(('quote',), body=stay), options)
        answer: types.QuoteAnswer = body
        return {**answer, 'stay': stay, 'tag': tag}

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
        body = _given(
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


class Units:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def list(self, options: Optional[CallOptions] = None) -> List[types.Unit]:
        """All units except archived ones, by name."""
        units: List[types.Unit] = self._http.get(['units'], options)['units']
        return units

    def get(self, slug: str, options: Optional[CallOptions] = None) -> types.Unit:
        unit: types.Unit = self._http.get(['units', slug], options)['unit']
        return unit


class Bookings:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def list(
        self,
        *,
        from_: Optional[DateIn] = None,
        to: Optional[DateIn] = None,
        status: Optional[str] = None,
        unit: Optional[str] = None,
        group: Optional[str] = None,
        page_size: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> 'Listing[types.Booking, types.ListBookingsAnswer]':
        """The latest arrival first. What changes meanwhile may be missing or old: follow the changes from before."""
        query = _given(**{'from': from_}, to=to, status=status, unit=unit, group=group, pageSize=page_size)
        return Listing(
            lambda: by_arrival(lambda place: self._http.get(['bookings'], options, {**query, **place})),
            'bookings',
            'id',
        )

    def get(self, id: str, options: Optional[CallOptions] = None) -> types.Booking:
        booking: types.Booking = self._http.get(['bookings', id], options)['booking']
        return booking

    def history(self, id: str, options: Optional[CallOptions] = None) -> 'List[types.BookingHistoryEntry]':
        """The changes of a booking, oldest first."""
        history: List[types.BookingHistoryEntry] = self._http.get(['bookings', id, 'history'], options)['history']
        return history

    def cancel(self, id: str, *, reason: Optional[str] = None, options: Optional[CallOptions] = None) -> types.Booking:
        """Of a cancelled booking, changes nothing."""
        body = _given(reason=reason)
        booking: types.Booking = self._http.post(['bookings', id, 'cancel'], body, options)['booking']
        return booking


class Groups:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def book(
        self,
        *,
        stays: Sequence[types.CreateGroupBodyStays],
        status: Optional[str] = None,
        hold_hours: Optional[int] = None,
        guest: Optional[types.CreateBookingBodyGuest] = None,
        options: Optional[CallOptions] = None,
    ) -> types.CreateGroupAnswer:
        """Books 2 to 20 stays, all or none."""
        body = _given(stays=stays, status=status, holdHours=hold_hours, guest=guest)
        answer: types.CreateGroupAnswer = self._http.post(['bookings', 'group'], body, options)
        return answer

    def cancel(
        self, group_id: str, *, reason: Optional[str] = None, options: Optional[CallOptions] = None
    ) -> types.CancelGroupAnswer:
        """Cancels what is not cancelled yet, all or none."""
        body = _given(reason=reason)
        answer: types.CancelGroupAnswer = self._http.post(['bookings', 'group', group_id, 'cancel'], body, options)
        return answer


class Guests:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def list(
        self,
        *,
        search: Optional[str] = None,
        page_size: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> 'Listing[types.Guest, types.ListGuestsAnswer]':
        """The newest first."""
        query = _given(search=search, pageSize=page_size)
        return Listing(
            lambda: by_number(lambda page: self._http.get(['guests'], options, {**query, **page})), 'guests', 'id'
        )

    def get(self, id: str, options: Optional[CallOptions] = None) -> types.GuestWithStays:
        guest: types.GuestWithStays = self._http.get(['guests', id], options)['guest']
        return guest
