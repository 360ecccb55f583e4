"""Sends requests, again where that is safe and may help. Internal."""

import email.utils
import http.client
import json
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import ApiError, NightledgerError, NoAnswerError, RawAnswer, api_error_of

VERSION = '1.0.0'
RETRIED = (408, 429, 500, 502, 503, 504)
PAUSE_S = 0.5
PAUSE_S_MAX = 8.0
# Longer ones would overflow a timer.
RETRY_AFTER_S_MAX = 86_400.0
IDLE_MAX = 8


class _Random:
    pass


RANDOM_KEY = _Random()


class CallOptions(NamedTuple):
    """Of a single call; what is left out is as the client has it. Times are in seconds."""

    timeout: Optional[float] = None
    deadline: Optional[float] = None
    tries_max: Optional[int] = None
    # Of a write: in place of a random one. None: no key, and the write is not repeated.
    idempotency_key: Union[str, None, _Random] = RANDOM_KEY


class Clock:
    """Time and chance, which tests replace."""

    def now(self) -> float:
        return time.monotonic()

    def random(self) -> float:
        return random.random()

    def sleep(self, seconds: float, closed: threading.Event) -> None:
        closed.wait(seconds)


class Call(NamedTuple):
    path: Tuple[str, ...]
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    # Sent as JSON with POST.
    body: Optional[Mapping[str, Any]] = None
    # `once`: a write that takes no Idempotency-Key, so that it must not be repeated.
    write: Optional[str] = None
    # Makes what is returned of the text of the answer. What it raises means that the answer is not complete.
    read: Callable[[str], Any] = json.loads

    @property
    def url_path(self) -> str:
        return ''.join('/' + urllib.parse.quote(part, safe='') for part in self.path)


def is_passing(error: BaseException) -> bool:
    """Whether the same request may get another answer."""
    if isinstance(error, ApiError):
        return error.status in RETRIED and error.code != 'QUOTA_EXCEEDED'
    return isinstance(error, NoAnswerError)


class Exchange:
    """A request and its answer, until all of it has been read."""

    def __init__(self, connection: http.client.HTTPConnection, sock: Any, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._socket = sock
        self._response = response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    def read_some(self, timeout: float) -> bytes:
        """What has arrived; empty at the end, also of an answer that was cut off, whose JSON then is none."""
        self._socket.settimeout(timeout)
        return self._response.read1(65536)

    def read_all(self, ends_at: float) -> bytes:
        parts: List[bytes] = []
        while True:
            left = ends_at - time.monotonic()
            if left <= 0:
                raise socket.timeout('no complete answer in time')
            part = self.read_some(left)
            if not part:
                return b''.join(parts)
            parts.append(part)

    def release(self) -> Optional[http.client.HTTPConnection]:
        """The connection, for another exchange; None if it has ended, or has more of this answer."""
        # `read1` leaves a response open whose last byte it has returned.
        if self._response.length == 0:
            self._response.close()
        return self._connection if self._connection.sock is not None and self._response.isclosed() else None

    def close(self) -> None:
        """Also wakes a thread that reads."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._response.close()
        self._connection.close()


class Transport:
    def __init__(
        self,
        key: str,
        url: str,
        timeout: float = 30.0,
        deadline: float = 120.0,
        tries_max: int = 4,
        cache_chars_max: int = 8_000_000,
        ssl_context: Optional[ssl.SSLContext] = None,
        clock: Optional[Clock] = None,
    ) -> None:
        # A header with other characters is refused with a message that contains it.
        if not re.fullmatch(r'[\x21-\x7e]+', key):
            raise ValueError('key must be printable ASCII without spaces')
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ('http', 'https') or parts.hostname is None:
            raise ValueError('url must be the address of the service, http:// or https://')
        # Not an attribute: no dump of this object has it.
        self._authorization: Callable[[], str] = lambda: f'Bearer {key}'
        self._is_tls = parts.scheme == 'https'
        # Without a port, `http.client` looks for one in the host, and finds it in an address of IPv6.
        self._host, self._port = parts.hostname, parts.port or (443 if self._is_tls else 80)
        self._base = f'{parts.path.rstrip("/")}/partner/v1'
        self._ssl_context = ssl_context
        self._timeout, self._deadline, self._tries_max = timeout, deadline, tries_max
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []
        # By URL, the most recently used last.
        self._kept: 'OrderedDict[str, Tuple[str, str]]' = OrderedDict()
        self._kept_chars = 0
        self._cache_chars_max = cache_chars_max
        self.clock = clock or Clock()

    def get(
        self, path: Sequence[str], options: Optional[CallOptions] = None, query: Optional[Mapping[str, Any]] = None
    ) -> Any:
        return self.send(Call(tuple(path), query=query or {}), options)[0]

    def post(
        self, path: Sequence[str], body: Mapping[str, Any], options: Optional[CallOptions] = None, write: str = 'keyed'
    ) -> Any:
        return self.send(Call(tuple(path), body=body, write=write), options)[0]

    def send(self, call: Call, options: Optional[CallOptions] = None) -> Tuple[Any, Optional[str]]:
        """The body of the answer and its tag."""
        given = options or CallOptions()
        timeout = self._timeout if given.timeout is None else given.timeout
        deadline = self._deadline if given.deadline is None else given.deadline
        tries_max = self._tries_max if given.tries_max is None else given.tries_max
        key = given.idempotency_key if call.write == 'keyed' else None
        if isinstance(key, _Random):
            key = str(uuid.uuid4())
        if call.write is not None and key is None:
            tries_max = 1
        ends_at = self.clock.now() + deadline
        tries = 1
        while True:
            try:
                # A pause may have taken longer than it should.
                return self._once(call, key, tries, max(0.001, min(timeout, ends_at - self.clock.now())))
            except NightledgerError as error:
                error.idempotency_key = key
                pause = self.pause(tries, error)
                if tries >= tries_max or not is_passing(error) or self.clock.now() + pause >= ends_at:
                    raise
            self.clock.sleep(pause, threading.Event())
            tries += 1

    def pause(self, tries: int, error: Optional[BaseException] = None) -> float:
        """After the try of this number, from 1: doubled each time, with jitter; or what `Retry-After` says."""
        after = error.answer.headers.get('retry-after') if isinstance(error, ApiError) else None
        seconds = _seconds_of(after) if after else 0.0
        if seconds > 0:
            return min(seconds, RETRY_AFTER_S_MAX)
        return min(PAUSE_S_MAX, PAUSE_S * 2.0 ** min(tries - 1, 10)) * (0.5 + self.clock.random() / 2)

    def _once(self, call: Call, key: Optional[str], tries: int, timeout: float) -> Tuple[Any, Optional[str]]:
        is_read = call.body is None and call.write is None
        url = self._url_of(call)
        kept = self._kept.get(url) if is_read else None
        headers = dict(call.headers)
        if key is not None:
            headers['Idempotency-Key'] = key
        if kept is not None:
            headers['If-None-Match'] = kept[0]
        if is_read and tries > 1:
            # A cache on the way may have answered the first try.
            headers['Cache-Control'] = 'no-cache'
        ends_at = time.monotonic() + timeout
        exchange = self.open(call._replace(headers=headers), timeout)
        try:
            # A 304 for which nothing is kept has no body, like an answer that was cut off.
            text = kept[1] if exchange.status == 304 and kept else exchange.read_all(ends_at).decode()
            body = None if exchange.status == 204 else call.read(text)
        except (OSError, http.client.HTTPException, LookupError, TypeError, ValueError) as cause:
            exchange.close()
            raise _no_answer(call, cause) from cause
        self._put_back(exchange)
        tag = exchange.headers.get('etag')
        if is_read and tag is not None:
            self._keep(url, (tag, text))
        return body, tag

    def open(self, call: Call, timeout: float) -> Exchange:
        """Sends one request. Raises ApiError if it is refused."""
        method = 'GET' if call.body is None and call.write is None else 'POST'
        body = None if call.body is None else json.dumps(call.body, separators=(',', ':')).encode()
        headers = {'Authorization': self._authorization(), 'User-Agent': f'nightledger-python/{VERSION}', **call.headers}
        if body is not None:
            headers['Content-Type'] = 'application/json'
        ends_at = time.monotonic() + timeout
        while True:
            # The service may have closed an idle connection: what must not be repeated gets one of its own.
            is_fresh = call.write is not None and 'Idempotency-Key' not in headers
            connection, is_used = self._connection(timeout, is_fresh)
            try:
                connection.request(method, self._url_of(call), body, headers)
                sock: Any = connection.sock
                exchange = Exchange(connection, sock, connection.getresponse())
                if 200 <= exchange.status < 300 or exchange.status == 304:
                    return exchange
                text = exchange.read_all(ends_at).decode(errors='replace')
                break
            except (OSError, http.client.HTTPException) as cause:
                connection.close()
                if not (is_used and isinstance(cause, (ConnectionError, http.client.RemoteDisconnected))):
                    raise _no_answer(call, cause) from cause
        self._put_back(exchange)
        raise api_error_of(RawAnswer(exchange.status, exchange.headers, text))

    def _connection(self, timeout: float, is_fresh: bool) -> Tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            idle = self._idle.pop() if self._idle and not is_fresh else None
        if idle is not None:
            sock: Any = idle.sock
            sock.settimeout(timeout)
            return idle, True
        if self._is_tls:
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout, context=self._ssl_context
            ), False
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout), False

    def _put_back(self, exchange: Exchange) -> None:
        connection = exchange.release()
        with self._lock:
            if connection is not None and len(self._idle) < IDLE_MAX:
                self._idle.append(connection)
                return
        exchange.close()

    def _url_of(self, call: Call) -> str:
        query = urllib.parse.urlencode(
            {
                name: str(value).lower() if isinstance(value, bool) else str(value)
                for name, value in call.query.items()
                if value is not None
            }
        )
        return self._base + call.url_path + (f'?{query}' if query else '')

    def _keep(self, url: str, answer: Tuple[str, str]) -> None:
        """The least recently used answers make room."""
        with self._lock:
            self._kept_chars += len(answer[1]) - len(self._kept.pop(url, ('', ''))[1])
            self._kept[url] = answer
            while self._kept_chars > self._cache_chars_max:
                self._kept_chars -= len(self._kept.popitem(last=False)[1][1])

    def close(self) -> None:
        """Closes the connections that wait for the next call."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _no_answer(call: Call, cause: BaseException) -> NoAnswerError:
    why = 'no complete answer in time' if isinstance(cause, socket.timeout) else 'no complete answer: connection lost'
    return NoAnswerError(f'Cannot {"GET" if call.body is None else "POST"} {call.url_path}: {why}')


def _seconds_of(retry_after: str) -> float:
    if retry_after.isdigit():
        return float(retry_after)
    at = email.utils.parsedate_tz(retry_after)
    return 0.0 if at is None else email.utils.mktime_tz(at) - time.time()
