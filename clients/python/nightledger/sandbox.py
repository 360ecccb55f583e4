"""For keys of a sandbox, `hr_test_…`: a live key gets FeatureDisabledError."""

import threading
from typing import Any, Literal, Mapping, Optional, TypedDict

from .transport import CallOptions, Transport

PAUSE_S = 0.25
PAUSE_S_MAX = 4.0


class TestClock(TypedDict):
    """The time of the sandbox, in ISO 8601. It stands still unless it is moved."""

    now: str
    # `advancing`: what falls due until `now` is still happening.
    status: Literal['advancing', 'ready']


class TestMode:
    def __init__(self, http: Transport) -> None:
        self.clock = SandboxClock(http)
        self.events = SandboxEvents(http)


class SandboxClock:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def get(self, options: Optional[CallOptions] = None) -> TestClock:
        clock: TestClock = self._http.get(['test', 'clock'], options)
        return clock

    def advance(
        self, *, days: int = 0, hours: int = 0, seconds: int = 0, options: Optional[CallOptions] = None
    ) -> TestClock:
        """Moves the clock forward, and waits until everything that falls due has happened. At most 800 days."""
        return self._move({'advanceSeconds': days * 86_400 + hours * 3_600 + seconds}, options)

    def set(self, now: str, options: Optional[CallOptions] = None) -> TestClock:
        """now: ISO 8601, not before the clock's time."""
        return self._move({'now': now}, options)

    def _move(self, body: Mapping[str, Any], options: Optional[CallOptions]) -> TestClock:
        clock = self._http.clock
        deadline = options.deadline if options is not None and options.deadline is not None else 120.0
        ends_at = clock.now() + deadline
        moved: TestClock = self._http.post(['test', 'clock'], body, options)
        pause = PAUSE_S
        while moved['status'] != 'ready' and clock.now() < ends_at:
            clock.sleep(min(pause, PAUSE_S_MAX), threading.Event())
            pause *= 2
            moved = self.get(options)
        return moved


class SandboxEvents:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def send(
        self,
        *,
        booking_id: str,
        kind: Literal['duplicate', 'reorder', 'late', 'bad_signature', 'old_timestamp'],
        options: Optional[CallOptions] = None,
    ) -> None:
        """Sends a booking's last event to the sandbox's endpoints again, in a way that a receiver must bear or refuse."""
        self._http.post(['test', 'events'], {'bookingId': booking_id, 'kind': kind}, options, 'once')
