"""The changes of an agency: in one order, without gaps."""

import codecs
import http.client
import json
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import CursorExpiredError, HistoryRewrittenError, NightledgerError
from .history import History, read_note
from .transport import Call, CallOptions, Exchange, Transport, _no_answer, is_passing
from .types import Change, ListChangesAnswer, UnitChange

AnyChange = Union[Change, UnitChange]
WAIT_S = 20
VERIFY_PAUSE_S = 600.0
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
        checkpoint: Optional[str] = None,
        verify_pause: float = VERIFY_PAUSE_S,
    ) -> 'Follow':
        """
        Every change from a cursor on, in order and once, for ever: until the loop is left, or `close` is called. Checks
        meanwhile that the agency's history only grows, and raises HistoryRewrittenError if it does not.

        after: the cursor of the last change that was applied; `start`: from the beginning. Without it: from now on.
        on_reset: the cursor has expired, or the agency's history was replaced by a backup. Following continues once
          this has returned. Without it, CursorExpiredError is raised.
        poll: ask once a minute instead of reading a stream. Chosen by itself where streams do not pass.
        silence: seconds; a stream that is silent for so long is lost. The service sends something every 15 s.
        poll_pause: seconds between two polls. 40 cost 43,200 requests in 30 days; less can use up the month's quota.
        checkpoint: what was kept with the cursor. Leave it out with a cursor that replaces an expired one.
        verify_pause: seconds between two checks of the history, at least; only after changes. 600 cost at most 8,640
          requests in 30 days. 0: no checks.
        """
        return Follow(self._http, after, include, on_reset, poll, silence, poll_pause, checkpoint, verify_pause)


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
        checkpoint: Optional[str],
        verify_pause: float,
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
        self._checkpoint = read_note(checkpoint).note if checkpoint else None
        self._verify_pause = verify_pause
        # One that was kept is checked with the first changes.
        self._verify_at = http.clock.now() + (0 if checkpoint else verify_pause)
        # Changes were read since the last check.
        self._is_unverified = False
        # The cursor was refused since the last check: the history may be another one.
        self._is_reset = False
        self._closed = threading.Event()
        self._exchange: Optional[Exchange] = None

    @property
    def checkpoint(self) -> Optional[str]:
        """The newest checkpoint that was checked: keep it with the cursor. None: none yet."""
        return None if self._is_reset else self._checkpoint

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
                        if self._closed.is_set():
                            return
                        yield from self._once(change)
                    self.cursor = page['cursor']
                    self._verify(once)
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
                        self._verify(once)
                finally:
                    self._exchange.close()
                    self._is_polled = self._is_polled or mute >= MUTE_STREAMS_MAX
            except CursorExpiredError as error:
                if self._on_reset is None:
                    raise
                expired = error
                self._is_reset = True
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
        self._is_unverified = True

    def _verify(self, once: CallOptions) -> None:
        """
        If it is time, checks that the history continues the newest checkpoint. A check that gets no answer is left to
        the next one; one that is refused ends the loop: a service that proves nothing any longer may have something to
        hide.
        """
        now = self._http.clock.now()
        if not self._is_unverified or self._verify_pause == 0 or now < self._verify_at:
            return
        self._verify_at = now + self._verify_pause
        history = History(self._http)
        kept = read_note(self._checkpoint) if self._checkpoint else None
        newest = kept
        try:
            newest = history.checkpoint(once)
            if kept is not None and (kept.origin == newest.origin or not self._is_reset):
                history.verify(kept.note, newest.note, once)
        except HistoryRewrittenError:
            if kept is not None and newest is not None and kept.origin != newest.origin:
                # If a backup was restored a moment ago, the cursor is refused too, which an open stream does not show.
                Changes(self._http).list(after=self.cursor, limit=1, options=once)
            raise
        except NightledgerError as error:
            if is_passing(error):
                return
            raise
        self._checkpoint = newest.note
        self._is_unverified = self._is_reset = False

    def _events(self, call: Call, exchange: Exchange) -> Iterator[Tuple[str, str]]:
        """Server-sent events, until the stream ends: an event that is cut off is none."""
        decode = codecs.getincrementaldecoder('utf-8')('replace')
        text = ''
        # `close` finds no exchange that is still being opened.
        while not self._closed.is_set():
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
                if self._closed.is_set():
                    return
                event: Dict[str, Any] = {'id': '', 'data': ''}
                for line in block.split('\n'):
                    name, _, value = line.partition(':')
                    if name in event:
                        event[name] += value[1:] if value.startswith(' ') else value
                yield event['id'], event['data']
