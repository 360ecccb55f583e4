"""What the package raises. Each `code` of the service has a class of its own."""

import json
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Type

from . import types

if TYPE_CHECKING:
    from .history import Checkpoint


class NightledgerError(Exception):
    """Everything that this package raises, except for wrong arguments."""

    # Of a write: the key that was sent. Repeat it with this key, and it happens once.
    idempotency_key: Optional[str] = None


class NoAnswerError(NightledgerError):
    """No complete answer, within the tries and the time of the call. Of a write, the outcome is unknown."""


class HistoryRewrittenError(NightledgerError):
    """
    The agency's history is not the one that an earlier checkpoint stands for: entries were changed or removed since.
    Keep both notes, and ask the agency.
    """

    def __init__(self, before: 'Checkpoint', after: 'Checkpoint') -> None:
        # The note of the earlier checkpoint, and that of the checkpoint that does not continue it.
        self.before: str = before.note
        self.after: str = after.note
        super().__init__(
            f'The history was rewritten: {after.size} entries of {after.origin} do not continue the {before.size} '
            f'entries of {before.origin} that an earlier checkpoint covers. Entries were changed or removed. '
            'Keep both signed checkpoints, `before` and `after`, and ask the agency'
        )


class RawAnswer(NamedTuple):
    """An answer as it was received. The names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str


class ApiError(NightledgerError):
    """The service refused. This class stands for codes that are newer than this package."""

    def __init__(self, answer: RawAnswer, body: Mapping[str, Any]) -> None:
        # Stable: branch on it. `HTTP_502` and the like if the answer did not come from the service.
        self.code: str = body['code'] if isinstance(body.get('code'), str) else f'HTTP_{answer.status}'
        self.title: str = str(body.get('title', f'Answer with status {answer.status}'))
        self.status: int = answer.status
        # Say this when you ask the agency's operator about a request.
        self.request_id: Optional[str] = answer.headers.get('x-request-id')
        self.answer: RawAnswer = answer
        # All members, under the names of the API.
        self.body: Mapping[str, Any] = body
        # Of a group: the index of the first refused stay, and every refused stay.
        self.stay: Optional[int] = body.get('stay')
        self.refusals: Optional[List[Dict[str, Any]]] = body.get('refusals')
        super().__init__(f'{self.title} ({self.code})')


class ValidationError(ApiError):
    @property
    def errors(self) -> 'List[types.ValidationProblemErrors]':
        return list(self.body['errors'])


class UnauthorizedError(ApiError):
    pass


class FeatureDisabledError(ApiError):
    pass


class ScopeMissingError(ApiError):
    @property
    def scope(self) -> str:
        return str(self.body['scope'])


class NotFoundError(ApiError):
    pass


class BookingConflictError(ApiError):
    @property
    def conflict(self) -> 'types.BookingConflictProblemConflict':
        conflict: types.BookingConflictProblemConflict = self.body['conflict']
        return conflict


class TurnoverBlockConflictError(ApiError):
    @property
    def conflict(self) -> 'types.TurnoverBlockConflictProblemConflict':
        conflict: types.TurnoverBlockConflictProblemConflict = self.body['conflict']
        return conflict


class ExpectedExtensionConflictError(ApiError):
    @property
    def conflicts(self) -> 'List[types.ExpectedExtensionConflictProblemConflicts]':
        return list(self.body['conflicts'])


class CursorExpiredError(ApiError):
    pass


class HistoryExpiredError(ApiError):
    pass


class QuoteChangedError(ApiError):
    """Nothing was booked."""

    @property
    def quote(self) -> 'types.QuoteChangedProblemQuote':
        """The present price."""
        quote: types.QuoteChangedProblemQuote = self.body['quote']
        return quote


class MinStayError(ApiError):
    @property
    def min_stay(self) -> int:
        """Nights."""
        return int(self.body['minStay'])


class RestrictedError(ApiError):
    @property
    def restrictions(self) -> 'List[types.RestrictedProblemRestrictions]':
        return list(self.body['restrictions'])

    @property
    def alternatives(self) -> 'types.RestrictedProblemAlternatives':
        alternatives: types.RestrictedProblemAlternatives = self.body['alternatives']
        return alternatives


class IdempotencyKeyReusedError(ApiError):
    pass


class RateLimitedError(ApiError):
    pass


class QuotaExceededError(ApiError):
    @property
    def quota(self) -> int:
        return int(self.body['quota'])

    @property
    def used(self) -> int:
        return int(self.body['used'])

    @property
    def resets_at(self) -> str:
        return str(self.body['resetsAt'])


class InternalError(ApiError):
    pass


CLASSES: Dict[str, Type[ApiError]] = {
    'VALIDATION': ValidationError,
    'UNAUTHORIZED': UnauthorizedError,
    'FEATURE_DISABLED': FeatureDisabledError,
    'SCOPE_MISSING': ScopeMissingError,
    'NOT_FOUND': NotFoundError,
    'BOOKING_CONFLICT': BookingConflictError,
    'TURNOVER_BLOCK_CONFLICT': TurnoverBlockConflictError,
    'EXPECTED_EXTENSION_CONFLICT': ExpectedExtensionConflictError,
    'CURSOR_EXPIRED': CursorExpiredError,
    'HISTORY_EXPIRED': HistoryExpiredError,
    'QUOTE_CHANGED': QuoteChangedError,
    'MIN_STAY': MinStayError,
    'RESTRICTED': RestrictedError,
    'IDEMPOTENCY_KEY_REUSED': IdempotencyKeyReusedError,
    'RATE_LIMITED': RateLimitedError,
    'QUOTA_EXCEEDED': QuotaExceededError,
    'INTERNAL': InternalError,
}


def api_error_of(answer: RawAnswer) -> ApiError:
    """The error of an answer, of the class of its code."""
    try:
        body = json.loads(answer.text)
    except ValueError:
        # A proxy's page.
        body = None
    members: Dict[str, Any] = body if isinstance(body, dict) else {}
    return CLASSES.get(str(members.get('code')), ApiError)(answer, members)
