# Made from the OpenAPI document by test/clients/support/make-types.ts. Do not edit.
from typing import Any, Dict, List, Literal, NewType, TypedDict, Union

# A calendar date, `YYYY-MM-DD`, that the service sent. It has no time and no time zone.
IsoDate = NewType('IsoDate', str)
_Booking = TypedDict('_Booking', {'id': 'str', 'unitSlug': 'str', 'unitName': 'str', 'type': 'Literal["guest", "owner_stay", "maintenance", "block"]', 'status': 'Literal["draft", "option", "confirmed", "checked_in", "checked_out", "cancelled"]', 'source': 'str', 'arrival': 'IsoDate', 'departure': 'IsoDate', 'nights': 'int', 'adults': 'int', 'children': 'int', 'totalAmount': 'int', 'sourceRef': 'Union[str, None]', 'createdAt': 'str', 'updatedAt': 'str', 'holdExpiresAt': 'Union[str, None]', 'cancelledAt': 'Union[str, None]', 'cancelReason': 'Union[str, None]'})
_BookingOptional = TypedDict('_BookingOptional', {'groupId': 'str'}, total=False)
class Booking(_Booking, _BookingOptional):
    pass

_BookingEventData = TypedDict('_BookingEventData', {'id': 'str', 'unitSlug': 'str', 'unitName': 'str', 'type': 'Literal["guest", "owner_stay", "maintenance", "block"]', 'status': 'Literal["draft", "option", "confirmed", "checked_in", "checked_out", "cancelled"]', 'source': 'str', 'sourceRef': 'Union[str, None]', 'arrival': 'IsoDate', 'departure': 'IsoDate', 'nights': 'int', 'adults': 'int', 'children': 'int', 'totalAmount': 'int', 'currency': 'str', 'version': 'int'})
_BookingEventDataOptional = TypedDict('_BookingEventDataOptional', {'groupId': 'str'}, total=False)
class BookingEventData(_BookingEventData, _BookingEventDataOptional):
    pass

_BookingCancelledEvent = TypedDict('_BookingCancelledEvent', {'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["booking.cancelled"]', 'data': 'BookingEventData'})
_BookingCancelledEventOptional = TypedDict('_BookingCancelledEventOptional', {'mode': 'Literal["test"]'}, total=False)
class BookingCancelledEvent(_BookingCancelledEvent, _BookingCancelledEventOptional):
    pass

BookingConflictProblemConflict = TypedDict('BookingConflictProblemConflict', {'from': 'IsoDate', 'to': 'IsoDate', 'nights': 'List[IsoDate]', 'bookableFrom': 'Union[IsoDate, None]'})
BookingConflictProblem = TypedDict('BookingConflictProblem', {'code': 'Literal["BOOKING_CONFLICT"]', 'title': 'str', 'requestId': 'str', 'conflict': 'BookingConflictProblemConflict'})
BookingConflictProblemOfStaysConflict = TypedDict('BookingConflictProblemOfStaysConflict', {'from': 'IsoDate', 'to': 'IsoDate', 'nights': 'List[IsoDate]', 'bookableFrom': 'Union[IsoDate, None]'})
BookingConflictProblemOfStays = TypedDict('BookingConflictProblemOfStays', {'code': 'Literal["BOOKING_CONFLICT"]', 'title': 'str', 'requestId': 'str', 'conflict': 'BookingConflictProblemOfStaysConflict', 'stay': 'int', 'refusals': 'List[Dict[str, Any]]'})
_BookingCreatedEvent = TypedDict('_BookingCreatedEvent', {'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["booking.created"]', 'data': 'BookingEventData'})
_BookingCreatedEventOptional = TypedDict('_BookingCreatedEventOptional', {'mode': 'Literal["test"]'}, total=False)
class BookingCreatedEvent(_BookingCreatedEvent, _BookingCreatedEventOptional):
    pass

BookingHistoryEntry = TypedDict('BookingHistoryEntry', {'version': 'int', 'at': 'str', 'event': 'Literal["booking.created", "booking.updated", "booking.cancelled"]', 'status': 'Literal["draft", "option", "confirmed", "checked_in", "checked_out", "cancelled"]', 'unitSlug': 'str', 'arrival': 'IsoDate', 'departure': 'IsoDate', 'totalAmount': 'int', 'by': 'Literal["you", "partner", "agency", "system"]'})
_BookingUpdatedEvent = TypedDict('_BookingUpdatedEvent', {'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["booking.updated"]', 'data': 'BookingEventData'})
_BookingUpdatedEventOptional = TypedDict('_BookingUpdatedEventOptional', {'mode': 'Literal["test"]'}, total=False)
class BookingUpdatedEvent(_BookingUpdatedEvent, _BookingUpdatedEventOptional):
    pass

_Change = TypedDict('_Change', {'cursor': 'str', 'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["booking.created", "booking.updated", "booking.cancelled"]', 'data': 'BookingEventData'})
_ChangeOptional = TypedDict('_ChangeOptional', {'mode': 'Literal["test"]'}, total=False)
class Change(_Change, _ChangeOptional):
    pass

CursorExpiredProblem = TypedDict('CursorExpiredProblem', {'code': 'Literal["CURSOR_EXPIRED"]', 'title': 'str', 'requestId': 'str'})
ExpectedExtensionConflictProblemConflicts = TypedDict('ExpectedExtensionConflictProblemConflicts', {'from': 'IsoDate', 'to': 'IsoDate'})
ExpectedExtensionConflictProblem = TypedDict('ExpectedExtensionConflictProblem', {'code': 'Literal["EXPECTED_EXTENSION_CONFLICT"]', 'title': 'str', 'requestId': 'str', 'conflicts': 'List[ExpectedExtensionConflictProblemConflicts]'})
ExpectedExtensionConflictProblemOfStaysConflicts = TypedDict('ExpectedExtensionConflictProblemOfStaysConflicts', {'from': 'IsoDate', 'to': 'IsoDate'})
ExpectedExtensionConflictProblemOfStays = TypedDict('ExpectedExtensionConflictProblemOfStays', {'code': 'Literal["EXPECTED_EXTENSION_CONFLICT"]', 'title': 'str', 'requestId': 'str', 'conflicts': 'List[ExpectedExtensionConflictProblemOfStaysConflicts]', 'stay': 'int', 'refusals': 'List[Dict[str, Any]]'})
FeatureDisabledProblem = TypedDict('FeatureDisabledProblem', {'code': 'Literal["FEATURE_DISABLED"]', 'title': 'str', 'requestId': 'str'})
FeeType = TypedDict('FeeType', {'id': 'str', 'label': 'str', 'kind': 'Literal["fixed", "percent"]', 'amount': 'Union[int, None]', 'pct': 'Union[float, None]', 'includesWeeklyCleaning': 'bool'})
Guest = TypedDict('Guest', {'id': 'str', 'firstName': 'str', 'lastName': 'str', 'email': 'Union[str, None]', 'phone': 'Union[str, None]', 'nationality': 'Union[str, None]', 'createdAt': 'str'})
GuestWithStaysStays = TypedDict('GuestWithStaysStays', {'id': 'str', 'unitSlug': 'str', 'arrival': 'IsoDate', 'departure': 'IsoDate', 'status': 'Literal["draft", "option", "confirmed", "checked_in", "checked_out", "cancelled"]'})
GuestWithStays = TypedDict('GuestWithStays', {'id': 'str', 'firstName': 'str', 'lastName': 'str', 'email': 'Union[str, None]', 'phone': 'Union[str, None]', 'nationality': 'Union[str, None]', 'createdAt': 'str', 'stays': 'List[GuestWithStaysStays]'})
HistoryExpiredProblem = TypedDict('HistoryExpiredProblem', {'code': 'Literal["HISTORY_EXPIRED"]', 'title': 'str', 'requestId': 'str'})
IdempotencyKeyReusedProblem = TypedDict('IdempotencyKeyReusedProblem', {'code': 'Literal["IDEMPOTENCY_KEY_REUSED"]', 'title': 'str', 'requestId': 'str'})
_InternalProblem = TypedDict('_InternalProblem', {'code': 'Literal["INTERNAL"]', 'title': 'str', 'requestId': 'str'})
_InternalProblemOptional = TypedDict('_InternalProblemOptional', {'traceId': 'str'}, total=False)
class InternalProblem(_InternalProblem, _InternalProblemOptional):
    pass

Key = TypedDict('Key', {'id': 'str', 'name': 'Union[str, None]', 'prefix': 'Union[str, None]', 'scopes': 'List[Literal["read:units", "read:availability", "read:rates", "read:bookings", "read:guests", "write:bookings"]]', 'createdAt': 'Union[str, None]', 'expiresAt': 'Union[str, None]'})
MinStayProblem = TypedDict('MinStayProblem', {'code': 'Literal["MIN_STAY"]', 'title': 'str', 'requestId': 'str', 'minStay': 'int'})
MinStayProblemOfStays = TypedDict('MinStayProblemOfStays', {'code': 'Literal["MIN_STAY"]', 'title': 'str', 'requestId': 'str', 'minStay': 'int', 'stay': 'int', 'refusals': 'List[Dict[str, Any]]'})
NotFoundProblem = TypedDict('NotFoundProblem', {'code': 'Literal["NOT_FOUND"]', 'title': 'str', 'requestId': 'str'})
NotFoundProblemOfStays = TypedDict('NotFoundProblemOfStays', {'code': 'Literal["NOT_FOUND"]', 'title': 'str', 'requestId': 'str', 'stay': 'int', 'refusals': 'List[Dict[str, Any]]'})
Offer = TypedDict('Offer', {'unit': 'str', 'name': 'str', 'city': 'Union[str, None]', 'area': 'Union[str, None]', 'bedrooms': 'float', 'maxGuests': 'float', 'arrival': 'IsoDate', 'departure': 'IsoDate', 'nights': 'int', 'currency': 'str', 'total': 'int', 'instantBook': 'bool'})
Quota = TypedDict('Quota', {'month': 'str', 'used': 'int', 'quota': 'int', 'remaining': 'int', 'resetsAt': 'str'})
QuotaExceededProblem = TypedDict('QuotaExceededProblem', {'code': 'Literal["QUOTA_EXCEEDED"]', 'title': 'str', 'requestId': 'str', 'quota': 'int', 'used': 'int', 'resetsAt': 'str'})
QuoteLine = TypedDict('QuoteLine', {'kind': 'Literal["accommodation", "discount", "cleaning", "extra_bed", "fee"]', 'label': 'str', 'from': 'Union[IsoDate, None]', 'to': 'Union[IsoDate, None]', 'quantity': 'Union[int, None]', 'unitAmount': 'Union[int, None]', 'pct': 'Union[float, None]', 'amount': 'int', 'feeTypeId': 'Union[str, None]'})
QuoteAnswerQuote = TypedDict('QuoteAnswerQuote', {'nights': 'int', 'currency': 'str', 'total': 'int', 'lines': 'List[QuoteLine]'})
QuoteAnswer = TypedDict('QuoteAnswer', {'available': 'bool', 'instantBook': 'bool', 'currency': 'str', 'reasons': 'List[Literal["BOOKING_CONFLICT", "TURNOVER_BLOCK_CONFLICT", "EXPECTED_EXTENSION_CONFLICT"]]', 'quote': 'QuoteAnswerQuote'})
QuoteChangedProblemQuote = TypedDict('QuoteChangedProblemQuote', {'nights': 'int', 'currency': 'str', 'total': 'int', 'lines': 'List[QuoteLine]'})
QuoteChangedProblem = TypedDict('QuoteChangedProblem', {'code': 'Literal["QUOTE_CHANGED"]', 'title': 'str', 'requestId': 'str', 'quote': 'QuoteChangedProblemQuote'})
RateLimit = TypedDict('RateLimit', {'requestsPerMinute': 'int', 'sharedWith': 'List[Literal["rest", "mcp"]]'})
RateLimitedProblem = TypedDict('RateLimitedProblem', {'code': 'Literal["RATE_LIMITED"]', 'title': 'str', 'requestId': 'str'})
UnitEventData = TypedDict('UnitEventData', {'unitId': 'str', 'unitSlug': 'str', 'version': 'int', 'from': 'Union[IsoDate, None]', 'to': 'Union[IsoDate, None]'})
_RatesUpdatedEvent = TypedDict('_RatesUpdatedEvent', {'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["rates.updated"]', 'data': 'UnitEventData'})
_RatesUpdatedEventOptional = TypedDict('_RatesUpdatedEventOptional', {'mode': 'Literal["test"]'}, total=False)
class RatesUpdatedEvent(_RatesUpdatedEvent, _RatesUpdatedEventOptional):
    pass

RestrictedProblemRestrictions = TypedDict('RestrictedProblemRestrictions', {'rule': 'Literal["closedToArrival", "closedToDeparture", "maxStay", "stopSell", "advanceNoticeHours", "bookingWindowDays"]', 'date': 'IsoDate', 'value': 'Union[bool, int]'})
RestrictedProblemAlternatives = TypedDict('RestrictedProblemAlternatives', {'previousArrival': 'Union[IsoDate, None]', 'nextArrival': 'Union[IsoDate, None]'})
RestrictedProblem = TypedDict('RestrictedProblem', {'code': 'Literal["RESTRICTED"]', 'title': 'str', 'requestId': 'str', 'restrictions': 'List[RestrictedProblemRestrictions]', 'alternatives': 'RestrictedProblemAlternatives'})
RestrictedProblemOfStaysRestrictions = TypedDict('RestrictedProblemOfStaysRestrictions', {'rule': 'Literal["closedToArrival", "closedToDeparture", "maxStay", "stopSell", "advanceNoticeHours", "bookingWindowDays"]', 'date': 'IsoDate', 'value': 'Union[bool, int]'})
RestrictedProblemOfStaysAlternatives = TypedDict('RestrictedProblemOfStaysAlternatives', {'previousArrival': 'Union[IsoDate, None]', 'nextArrival': 'Union[IsoDate, None]'})
RestrictedProblemOfStays = TypedDict('RestrictedProblemOfStays', {'code': 'Literal["RESTRICTED"]', 'title': 'str', 'requestId': 'str', 'restrictions': 'List[RestrictedProblemOfStaysRestrictions]', 'alternatives': 'RestrictedProblemOfStaysAlternatives', 'stay': 'int', 'refusals': 'List[Dict[str, Any]]'})
ScopeMissingProblem = TypedDict('ScopeMissingProblem', {'code': 'Literal["SCOPE_MISSING"]', 'title': 'str', 'requestId': 'str', 'scope': 'Literal["read:units", "read:availability", "read:rates", "read:bookings", "read:guests", "write:bookings"]'})
Tenant = TypedDict('Tenant', {'id': 'str', 'name': 'str', 'slug': 'str', 'currency': 'str', 'timezone': 'str'})
TestClock = TypedDict('TestClock', {'now': 'str', 'status': 'Literal["ready", "advancing"]'})
TurnoverBlockConflictProblemConflict = TypedDict('TurnoverBlockConflictProblemConflict', {'bookableFrom': 'Union[IsoDate, None]', 'departure': 'IsoDate'})
TurnoverBlockConflictProblem = TypedDict('TurnoverBlockConflictProblem', {'code': 'Literal["TURNOVER_BLOCK_CONFLICT"]', 'title': 'str', 'requestId': 'str', 'conflict': 'TurnoverBlockConflictProblemConflict'})
TurnoverBlockConflictProblemOfStaysConflict = TypedDict('TurnoverBlockConflictProblemOfStaysConflict', {'bookableFrom': 'Union[IsoDate, None]', 'departure': 'IsoDate'})
TurnoverBlockConflictProblemOfStays = TypedDict('TurnoverBlockConflictProblemOfStays', {'code': 'Literal["TURNOVER_BLOCK_CONFLICT"]', 'title': 'str', 'requestId': 'str', 'conflict': 'TurnoverBlockConflictProblemOfStaysConflict', 'stay': 'int', 'refusals': 'List[Dict[str, Any]]'})
UnauthorizedProblem = TypedDict('UnauthorizedProblem', {'code': 'Literal["UNAUTHORIZED"]', 'title': 'str', 'requestId': 'str'})
Unit = TypedDict('Unit', {'id': 'str', 'slug': 'str', 'name': 'str', 'status': 'Literal["active", "draft", "archived"]', 'city': 'Union[str, None]', 'area': 'Union[str, None]', 'building': 'Union[str, None]', 'bedrooms': 'float', 'beds': 'float', 'bathrooms': 'float', 'maxGuests': 'float', 'sizeSqm': 'Union[float, None]', 'basePrice': 'int', 'cleaningFee': 'int', 'minStay': 'int', 'checkinTime': 'str', 'checkoutTime': 'str', 'instantBook': 'bool', 'registrationNumber': 'Union[str, None]'})
UnitCalendarBlocked = TypedDict('UnitCalendarBlocked', {'from': 'IsoDate', 'to': 'IsoDate'})
_UnitCalendar = TypedDict('_UnitCalendar', {'unit': 'str', 'blocked': 'List[UnitCalendarBlocked]'})
_UnitCalendarOptional = TypedDict('_UnitCalendarOptional', {'prices': 'List[int]', 'minStay': 'List[int]', 'arrival': 'str', 'departure': 'str', 'maxStay': 'List[int]'}, total=False)
class UnitCalendar(_UnitCalendar, _UnitCalendarOptional):
    pass

_UnitChange = TypedDict('_UnitChange', {'cursor': 'str', 'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["rates.updated", "unit.updated"]', 'data': 'UnitEventData'})
_UnitChangeOptional = TypedDict('_UnitChangeOptional', {'mode': 'Literal["test"]'}, total=False)
class UnitChange(_UnitChange, _UnitChangeOptional):
    pass

_UnitUpdatedEvent = TypedDict('_UnitUpdatedEvent', {'id': 'str', 'occurredAt': 'str', 'seq': 'int', 'event': 'Literal["unit.updated"]', 'data': 'UnitEventData'})
_UnitUpdatedEventOptional = TypedDict('_UnitUpdatedEventOptional', {'mode': 'Literal["test"]'}, total=False)
class UnitUpdatedEvent(_UnitUpdatedEvent, _UnitUpdatedEventOptional):
    pass

ValidationProblemErrors = TypedDict('ValidationProblemErrors', {'field': 'str', 'message': 'str'})
ValidationProblem = TypedDict('ValidationProblem', {'code': 'Literal["VALIDATION"]', 'title': 'str', 'requestId': 'str', 'errors': 'List[ValidationProblemErrors]'})
GetMeAnswer = TypedDict('GetMeAnswer', {'tenant': 'Tenant', 'key': 'Key', 'rateLimit': 'RateLimit', 'quota': 'Quota'})
ListUnitsAnswer = TypedDict('ListUnitsAnswer', {'units': 'List[Unit]'})
GetUnitAnswer = TypedDict('GetUnitAnswer', {'unit': 'Unit'})
GetAvailabilityAnswer = TypedDict('GetAvailabilityAnswer', {'unit': 'str', 'from': 'IsoDate', 'to': 'IsoDate', 'blockedNights': 'List[IsoDate]'})
GetCalendarAnswer = TypedDict('GetCalendarAnswer', {'from': 'IsoDate', 'to': 'IsoDate', 'currency': 'str', 'units': 'List[UnitCalendar]', 'page': 'int', 'pageSize': 'int', 'totalItems': 'int', 'pageCount': 'int'})
SearchStaysAnswer = TypedDict('SearchStaysAnswer', {'offers': 'List[Offer]', 'page': 'int', 'pageSize': 'int', 'totalItems': 'int', 'pageCount': 'int'})
_QuoteStayBody = TypedDict('_QuoteStayBody', {'unit': 'str', 'arrival': 'str', 'departure': 'str'})
_QuoteStayBodyOptional = TypedDict('_QuoteStayBodyOptional', {'adults': 'int', 'children': 'int', 'extraBed': 'bool'}, total=False)
class QuoteStayBody(_QuoteStayBody, _QuoteStayBodyOptional):
    pass

ListFeeTypesAnswer = TypedDict('ListFeeTypesAnswer', {'feeTypes': 'List[FeeType]'})
ListBookingsAnswer = TypedDict('ListBookingsAnswer', {'bookings': 'List[Booking]', 'page': 'int', 'pageSize': 'int', 'totalItems': 'int', 'pageCount': 'int'})
_CreateBookingBodyGuest = TypedDict('_CreateBookingBodyGuest', {'firstName': 'str', 'lastName': 'str'})
_CreateBookingBodyGuestOptional = TypedDict('_CreateBookingBodyGuestOptional', {'email': 'Union[str, None]', 'phone': 'Union[str, None]', 'nationality': 'Union[str, None]'}, total=False)
class CreateBookingBodyGuest(_CreateBookingBodyGuest, _CreateBookingBodyGuestOptional):
    pass

_CreateBookingBody = TypedDict('_CreateBookingBody', {'unit': 'str', 'arrival': 'str', 'departure': 'str'})
_CreateBookingBodyOptional = TypedDict('_CreateBookingBodyOptional', {'status': 'Literal["draft", "option", "confirmed"]', 'adults': 'int', 'children': 'int', 'extraBed': 'bool', 'sourceRef': 'Union[str, None]', 'notes': 'Union[str, None]', 'holdHours': 'Union[int, None]', 'guest': 'Union[CreateBookingBodyGuest, None]'}, total=False)
class CreateBookingBody(_CreateBookingBody, _CreateBookingBodyOptional):
    pass

CreateBookingAnswer = TypedDict('CreateBookingAnswer', {'booking': 'Booking'})
GetBookingAnswer = TypedDict('GetBookingAnswer', {'booking': 'Booking'})
GetBookingHistoryAnswer = TypedDict('GetBookingHistoryAnswer', {'history': 'List[BookingHistoryEntry]'})
CancelBookingBody = TypedDict('CancelBookingBody', {'reason': 'Union[str, None]'}, total=False)
CancelBookingAnswer = TypedDict('CancelBookingAnswer', {'booking': 'Booking'})
_CreateGroupBodyStays = TypedDict('_CreateGroupBodyStays', {'unit': 'str', 'arrival': 'str', 'departure': 'str'})
_CreateGroupBodyStaysOptional = TypedDict('_CreateGroupBodyStaysOptional', {'adults': 'int', 'children': 'int', 'extraBed': 'bool', 'sourceRef': 'Union[str, None]', 'notes': 'Union[str, None]'}, total=False)
class CreateGroupBodyStays(_CreateGroupBodyStays, _CreateGroupBodyStaysOptional):
    pass

_CreateGroupBodyGuest = TypedDict('_CreateGroupBodyGuest', {'firstName': 'str', 'lastName': 'str'})
_CreateGroupBodyGuestOptional = TypedDict('_CreateGroupBodyGuestOptional', {'email': 'Union[str, None]', 'phone': 'Union[str, None]', 'nationality': 'Union[str, None]'}, total=False)
class CreateGroupBodyGuest(_CreateGroupBodyGuest, _CreateGroupBodyGuestOptional):
    pass

_CreateGroupBody = TypedDict('_CreateGroupBody', {'stays': 'List[CreateGroupBodyStays]'})
_CreateGroupBodyOptional = TypedDict('_CreateGroupBodyOptional', {'status': 'Literal["draft", "option", "confirmed"]', 'holdHours': 'Union[int, None]', 'guest': 'Union[CreateGroupBodyGuest, None]'}, total=False)
class CreateGroupBody(_CreateGroupBody, _CreateGroupBodyOptional):
    pass

CreateGroupAnswer = TypedDict('CreateGroupAnswer', {'groupId': 'str', 'bookings': 'List[Booking]'})
CancelGroupBody = TypedDict('CancelGroupBody', {'reason': 'Union[str, None]'}, total=False)
CancelGroupAnswer = TypedDict('CancelGroupAnswer', {'groupId': 'str', 'bookings': 'List[Booking]'})
ListGuestsAnswer = TypedDict('ListGuestsAnswer', {'guests': 'List[Guest]', 'page': 'int', 'pageSize': 'int', 'totalItems': 'int', 'pageCount': 'int'})
GetGuestAnswer = TypedDict('GetGuestAnswer', {'guest': 'GuestWithStays'})
ListChangesAnswer = TypedDict('ListChangesAnswer', {'changes': 'List[Union[Change, UnitChange]]', 'cursor': 'str', 'hasMore': 'bool'})
GetCheckpointAnswer = str
GetCheckpointProofAnswer = TypedDict('GetCheckpointProofAnswer', {'from': 'int', 'to': 'int', 'hashes': 'List[str]'})
GetBookingProofAnswerEntries = TypedDict('GetBookingProofAnswerEntries', {'index': 'int', 'entry': 'str', 'hashes': 'List[str]'})
GetBookingProofAnswer = TypedDict('GetBookingProofAnswer', {'checkpoint': 'str', 'entries': 'List[GetBookingProofAnswerEntries]'})
MoveTestClockBody = TypedDict('MoveTestClockBody', {'now': 'str', 'advanceSeconds': 'int'}, total=False)
SendTestEventBody = TypedDict('SendTestEventBody', {'bookingId': 'str', 'kind': 'Literal["duplicate", "reorder", "late", "bad_signature", "old_timestamp"]'})
SendTestEventAnswer = TypedDict('SendTestEventAnswer', {'eventIds': 'List[str]', 'endpoints': 'int'})
GetOpenApiAnswer = TypedDict('GetOpenApiAnswer', {'openapi': 'str'})
