"""Units, bookings, groups and guests."""

import datetime
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import types
from .listing import Listing, by_arrival, by_number
from .transport import CallOptions, Transport

# `YYYY-MM-DD`, or a date.
DateIn = Union[str, datetime.date]


def given(**members: Any) -> Dict[str, Any]:
    """Without those that were left out, and in the names of the API."""
    return {name: _sent(value) for name, value in members.items() if value is not None}


def _sent(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_sent(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _sent(member) for name, member in value.items()}
    return value.isoformat()[:10] if isinstance(value, datetime.date) else value


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
        query = given(**{'from': from_}, to=to, status=status, unit=unit, group=group, pageSize=page_size)
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

    def proof(self, id: str, options: Optional[CallOptions] = None) -> types.GetBookingProofAnswer:
        """Proves that the booking's entries are in the newest checkpoint (RFC 6962, section 2.1.1)."""
        answer: types.GetBookingProofAnswer = self._http.get(['bookings', id, 'proof'], options)
        return answer

    def cancel(self, id: str, *, reason: Optional[str] = None, options: Optional[CallOptions] = None) -> types.Booking:
        """Of a cancelled booking, changes nothing."""
        body = given(reason=reason)
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
        body = given(stays=stays, status=status, holdHours=hold_hours, guest=guest)
        answer: types.CreateGroupAnswer = self._http.post(['bookings', 'group'], body, options)
        return answer

    def cancel(
        self, group_id: str, *, reason: Optional[str] = None, options: Optional[CallOptions] = None
    ) -> types.CancelGroupAnswer:
        """Cancels what is not cancelled yet, all or none."""
        body = given(reason=reason)
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
        query = given(search=search, pageSize=page_size)
        return Listing(
            lambda: by_number(lambda page: self._http.get(['guests'], options, {**query, **page})), 'guests', 'id'
        )

    def get(self, id: str, options: Optional[CallOptions] = None) -> types.GuestWithStays:
        guest: types.GuestWithStays = self._http.get(['guests', id], options)['guest']
        return guest
