"""A client of nightledger, the booking core for rental agencies."""

from .aio import AsyncNightledger
from .changes import Reset
from .client import Nightledger, Quote
from .errors import (
    ApiError,
    BookingConflictError,
    CursorExpiredError,
    ExpectedExtensionConflictError,
    FeatureDisabledError,
    HistoryExpiredError,
    HistoryRewrittenError,
    IdempotencyKeyReusedError,
    InternalError,
    MinStayError,
    NightledgerError,
    NoAnswerError,
    NotFoundError,
    QuotaExceededError,
    QuoteChangedError,
    RateLimitedError,
    RawAnswer,
    RestrictedError,
    ScopeMissingError,
    TurnoverBlockConflictError,
    UnauthorizedError,
    ValidationError,
)
from .history import Checkpoint
from .transport import VERSION as __version__
from .transport import CallOptions, Clock
from .webhooks import WebhookError, WebhookEvent, unwrap

__all__ = [
    'ApiError',
    'AsyncNightledger',
    'BookingConflictError',
    'CallOptions',
    'Checkpoint',
    'Clock',
    'CursorExpiredError',
    'ExpectedExtensionConflictError',
    'FeatureDisabledError',
    'HistoryExpiredError',
    'HistoryRewrittenError',
    'IdempotencyKeyReusedError',
    'InternalError',
    'MinStayError',
    'Nightledger',
    'NightledgerError',
    'NoAnswerError',
    'NotFoundError',
    'QuotaExceededError',
    'Quote',
    'QuoteChangedError',
    'RateLimitedError',
    'RawAnswer',
    'Reset',
    'RestrictedError',
    'ScopeMissingError',
    'TurnoverBlockConflictError',
    'UnauthorizedError',
    'ValidationError',
    'WebhookError',
    'WebhookEvent',
    '__version__',
    'unwrap',
]
