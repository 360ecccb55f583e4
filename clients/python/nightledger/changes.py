"""The changes of an agency: in one order, without gaps."""

import codecs
import http.client
import json
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import CursorExpiredError, NightledgerError
from .transport import Call, CallOptions, Exchange, Transport, _no_answer, is_passing
from .types import Change, ListChangesAnswer, UnitChange

AnyChange = Union[Change, UnitChange]
WAIT_S = 20
EVENT_STREAM = 'text/event-stream'
# Streams without a sign of life, one after the other, until it is assumed that something on the way holds them back.
MUTE_STREAMS_MAX = 2


class Reset(NamedTuple):
    """The copy that was kept with the old cursor may differ from the service, and no change will say so."""

    # `bookings`, `rates`, `units`.
    forget: List[str]
    # What happens after this comes as changes: read everything now, and keep it with this cursor.
    cursor: str
    error: CursorExpiredError


class Changes:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def list(
        self,
        *,
        after: Optional[str] = None,
        limit: Optional[int] = None,
        wait: Optional[int] = None,
        include: Sequence[str] = (),
        options: Optional[CallOptions] = None,
    ) -> ListChangesAnswer:
        """One answer: the changes after a cursor, or the current end without one. `wait` is in seconds."""
        given = options or CallOptions()
        if wait and given.timeout is None:
            given = given._replace(timeout=wait + 30.0)
        query = {'after': after, 'limit': limit, 'wait': wait, 'include': ','.join(include) or None}
        answer: ListChangesAnswer = self._http.get(['changes'], given, query)
        return answer

    def follow(
        self,
        *,
        after: Optional[str] = None,
        include: Sequence[str] = (),
        on_reset: Optional[Callable[[Reset], None]] = None,
        poll: bool = False,
        silence: float = 45.0,
        poll_pause: float = 40.0,
    ) -> 'Follow':
        """
        Every change from a cursor on, in order and once, for ever: until the loop is left, or `close` is called.

        after: the cursor of the last change that was applied; `start`: from the beginning. Without it: from now on.
        on_reset: the cursor has expired, or the agency's history was replaced by a backup. Following continues once
          this has returned. Without it, CursorExpiredError is raised.
        poll: ask once a minute instead of reading a stream. Chosen by itself where streams do not pass.
        silence: seconds; a stream that is silent for so long is lost. The service sends something every 15 s.
        poll_pause: seconds between two polls. 40 cost 43,200 requests in 30 days; less can use up the month's quota.
        """
        return Follow(self._http, after, include, on_reset, poll, silence, poll_pause)


class Follow:
    def __init__(
        self,
        http: Transport,
        after: Optional[str],
        include: Sequence[str],
        on_reset: Optional[Callable[[Reset], None]],
        poll: bool,
        silence: float,
        poll_pause: float,
    ) -> None:
        self._http = http
        # After the last change that your loop has finished with. None: not known yet.
        self.cursor = after
        self._include = include
        self._on_reset = on_reset
        self._is_polled = poll
        self._silence = silence
        self._poll_pause = poll_pause
        self._seq = -1
        self._closed = threading.Event()
        self._exchange: Optional[Exchange] = None

    def close(self) -> None:
        """Ends the loop, from any thread."""
        self._closed.set()
        if self._exchange is not None:
            self._exchange.close()

    def __iter__(self) -> Iterator[AnyChange]:
        changes = Changes(self._http)
        once = CallOptions(tries_max=1)
        include = ','.join(self._include) or None
        expired: Optional[CursorExpiredError] = None
        failures, mute = 0, 0
        while not self._closed.is_set():
            failure: Optional[NightledgerError] = None
            try:
                if self.cursor is None or expired is not None:
                    cursor = changes.list(options=once)['cursor']
                    if expired is not None and self._on_reset is not None:
                        self._on_reset(Reset(['bookings', *self._include], cursor, expired))
                    self.cursor, self._seq, expired = cursor, -1, None
                if self._is_polled:
                    page = changes.list(after=self.cursor, include=self._include, wait=WAIT_S, options=once)
                    failures = 0
                    for change in page['changes']:
                        yield from self._once(change)
                    self.cursor = page['cursor']
                    if not page['hasMore']:
                        self._http.clock.sleep(self._poll_pause, self._closed)
                    continue
                headers = {'Accept': EVENT_STREAM, 'Last-Event-ID': self.cursor}
                call = Call(('changes',), query={'include': include}, headers=headers)
                self._exchange = self._http.open(call, 30.0)
                mute += 1
                try:
                    if not self._exchange.headers.get('content-type', '').startswith(EVENT_STREAM):
                        self._is_polled = True
                        continue
                    for event_id, data in self._events(call, self._exchange):
                        failures = mute = 0
                        if data:
                            yield from self._once(json.loads(data))
                        self.cursor = event_id or self.cursor
                finally:
                    self._exchange.close()
                    self._is_polled = self._is_polled or mute >= MUTE_STREAMS_MAX
            except CursorExpiredError as error:
                if self._on_reset is None:
                    raise
                expired = error
                continue
            except NightledgerError as error:
                if not is_passing(error):
                    raise
                failure = error
            failures += 1
            self._http.clock.sleep(self._http.pause(failures, failure), self._closed)

    def _once(self, change: AnyChange) -> Iterator[AnyChange]:
        """Something on the way may repeat what it has sent."""
        if change['seq'] <= self._seq:
            return
        yield change
        self._seq = change['seq']
        self.cursor = change['cursor']

    def _events(self, call: Call, exchange: Exchange) -> Iterator[Tuple[str, str]]:
        """Server-sent events, until the stream ends: an event that is cut off is none."""
        decode = codecs.getincrementaldecoder('utf-8')('replace')
        text = ''
        while True:
            try:
                part = exchange.read_some(self._silence)
            except (OSError, http.client.HTTPException, ValueError, AttributeError) as cause:
                # A response that another thread has closed has no file.
                if self._closed.is_set():
                    return
                raise _no_answer(call, cause) from cause
            if not part:
                return
            blocks = (text + decode.decode(part)).replace('\r\n', '\n').split('\n\n')
            text = blocks.pop()
            for block in blocks:
                event: Dict[str, Any] = {'id': '', 'data': ''}
                for line in block.split('\n'):
                    name, _, value = line.partition(':')
                    if name in event:
                        event[name] += value[1:] if value.startswith(' ') else value
                yield event['id'], event['data']
