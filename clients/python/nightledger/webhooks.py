"""Webhook messages: whether the service has signed them, and what they say."""

import hashlib
import hmac
import json
import re
import time
from typing import Any, Dict, Literal, Mapping, Optional, Sequence, TypedDict, Union

from .errors import NightledgerError
from .types import (
    BookingCancelledEvent,
    BookingCreatedEvent,
    BookingUpdatedEvent,
    RatesUpdatedEvent,
    UnitUpdatedEvent,
)

HEADER = 'x-service-signature'
# More than a rotation needs; each costs a computation.
SIGNATURES_MAX = 4


class Ping(TypedDict):
    id: str
    event: Literal['ping']
    occurredAt: str
    data: Dict[str, Any]


WebhookEvent = Union[
    BookingCreatedEvent, BookingUpdatedEvent, BookingCancelledEvent, RatesUpdatedEvent, UnitUpdatedEvent, Ping
]


class WebhookError(NightledgerError):
    """
    The message was not signed with a secret of the endpoint, or not now. Answer 400, and do nothing else.
    `reason` is `header`, `time`, `signature` or `body`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def unwrap(
    raw_body: bytes,
    headers: Mapping[str, str],
    secret: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = 300,
    now: Optional[float] = None,
) -> WebhookEvent:
    """
    Checks that the service has signed this message, and returns its event.

    raw_body: the bytes as received; parsing and serialising a body again changes them.
    secret: of the endpoint, with `whsec_`; during a rotation one of the two is enough, and both may be given.
    now: Unix seconds. Raises WebhookError.
    """
    if not isinstance(raw_body, (bytes, bytearray)):
        raise TypeError('raw_body must be the bytes of the body')
    header = next((value for name, value in headers.items() if name.lower() == HEADER), '')
    parts = [part.strip() for part in header.split(',')]
    times = [part[2:] for part in parts if re.fullmatch(r't=[0-9]{1,12}', part)]
    signatures = [part[3:] for part in parts if re.fullmatch(r'v1=[0-9a-f]{64}', part)][:SIGNATURES_MAX]
    if not times or not signatures:
        raise WebhookError('header', f'{HEADER} must be t=<seconds>, v1=<64 hexadecimal digits>')
    if abs((time.time() if now is None else now) - int(times[0])) > tolerance_seconds:
        raise WebhookError('time', f'The message was signed more than {tolerance_seconds} s from now')
    is_signed = False
    for each in [secret] if isinstance(secret, str) else secret:
        expected = hmac.new(each.encode(), f'{times[0]}.'.encode() + bytes(raw_body), hashlib.sha256).hexdigest()
        for signature in signatures:
            is_signed = hmac.compare_digest(expected, signature) or is_signed
    if not is_signed:
        raise WebhookError('signature', 'The message is not signed with a secret of this endpoint')
    try:
        event: WebhookEvent = json.loads(raw_body)
    except ValueError:
        raise WebhookError('body', 'The body is not JSON') from None
    return event
