"""The same client for asyncio: each call runs in a thread of the loop's default executor."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generic,
    Iterator,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from .changes import VERIFY_PAUSE_S, AnyChange, Changes, Follow, Reset
from .client import Nightledger
from .history import History
from .listing import Listing
from .resources import Bookings, Groups, Guests, Units
from .sandbox import SandboxClock, SandboxEvents

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    A = ParamSpec('A')

T = TypeVar('T')
P = TypeVar('P')
END: Any = object()


class _Face:
    def __init__(self, sync: Any) -> None:
        self._sync = sync


def _call(method: Callable[Concatenate[Any, A], T]) -> Callable[Concatenate[Any, A], Awaitable[T]]:
    async def call(self: Any, /, *args: A.args, **kwargs: A.kwargs) -> T:
        return await asyncio.to_thread(functools.partial(method, self._sync, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


def _list(method: Callable[Concatenate[Any, A], Listing[T, P]]) -> Callable[Concatenate[Any, A], AsyncListing[T, P]]:
    def call(self: Any, /, *args: A.args, **kwargs: A.kwargs) -> AsyncListing[T, P]:
        return AsyncListing(method(self._sync, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


async def _each(items: Iterator[T], threads: Optional[ThreadPoolExecutor] = None) -> AsyncIterator[T]:
    loop = asyncio.get_running_loop()
    while True:
        # As `asyncio.to_thread` does it, which has no choice of threads.
        run = contextvars.copy_context().run
        item: Any = await loop.run_in_executor(threads, functools.partial(run, next, items, END))
        if item is END:
            return
        yield item


class AsyncListing(Generic[T, P]):
    """Each iteration reads the list again, from its beginning."""

    def __init__(self, sync: Listing[T, P]) -> None:
        self._sync = sync

    def __aiter__(self) -> AsyncIterator[T]:
        return _each(iter(self._sync))

    def pages(self) -> AsyncIterator[P]:
        """The answers as they come."""
        return _each(self._sync.pages())


class AsyncFollow:
    """As `Follow`. A loop that is cancelled is closed."""

    def __init__(self, sync: Follow) -> None:
        self._sync = sync

    @property
    def cursor(self) -> Optional[str]:
        return self._sync.cursor

    @property
    def checkpoint(self) -> Optional[str]:
        return self._sync.checkpoint

    def close(self) -> None:
        self._sync.close()

    async def __aiter__(self) -> AsyncIterator[AnyChange]:
        # It waits for as long as nothing changes: a few of these would take all threads of the loop's executor.
        own = ThreadPoolExecutor(1)
        try:
            async for change in _each(iter(self._sync), own):
                yield change
        finally:
            self._sync.close()
            own.shutdown(wait=False)


class AsyncChanges(_Face):
    list = _call(Changes.list)

    def follow(
        self,
        *,
        after: Optional[str] = None,
        include: Sequence[str] = (),
        on_reset: Optional[Callable[[Reset], Union[None, Awaitable[None]]]] = None,
        poll: bool = False,
        silence: float = 45.0,
        poll_pause: float = 40.0,
        checkpoint: Optional[str] = None,
        verify_pause: float = VERIFY_PAUSE_S,
    ) -> AsyncFollow:
        """As `Changes.follow`; `on_reset` may be a coroutine function."""
        loop = asyncio.get_running_loop()

        async def on_loop(reset: Reset) -> None:
            outcome = on_reset(reset) if on_reset is not None else None
            if inspect.isawaitable(outcome):
                await outcome

        def from_thread(reset: Reset) -> None:
            asyncio.run_coroutine_threadsafe(on_loop(reset), loop).result()

        return AsyncFollow(
            self._sync.follow(
                after=after,
                include=include,
                on_reset=None if on_reset is None else from_thread,
                poll=poll,
                silence=silence,
                poll_pause=poll_pause,
                checkpoint=checkpoint,
                verify_pause=verify_pause,
            )
        )


class AsyncUnits(_Face):
    list = _call(Units.list)
    get = _call(Units.get)


class AsyncBookings(_Face):
    list = _list(Bookings.list)
    get = _call(Bookings.get)
    history = _call(Bookings.history)
    proof = _call(Bookings.proof)
    cancel = _call(Bookings.cancel)


class AsyncGroups(_Face):
    book = _call(Groups.book)
    cancel = _call(Groups.cancel)


class AsyncGuests(_Face):
    list = _list(Guests.list)
    get = _call(Guests.get)


class AsyncHistory(_Face):
    checkpoint = _call(History.checkpoint)
    verify = _call(History.verify)


class AsyncSandboxClock(_Face):
    get = _call(SandboxClock.get)
    advance = _call(SandboxClock.advance)
    set = _call(SandboxClock.set)


class AsyncSandboxEvents(_Face):
    send = _call(SandboxEvents.send)


class AsyncTestMode:
    def __init__(self, sync: Nightledger) -> None:
        self.clock = AsyncSandboxClock(sync.test.clock)
        self.events = AsyncSandboxEvents(sync.test.events)


class AsyncNightledger(_Face):
    """Takes what `Nightledger` takes."""

    def __init__(self, key: str, url: str, **options: Any) -> None:
        sync = Nightledger(key, url, **options)
        super().__init__(sync)
        self.units = AsyncUnits(sync.units)
        self.bookings = AsyncBookings(sync.bookings)
        self.groups = AsyncGroups(sync.groups)
        self.guests = AsyncGuests(sync.guests)
        self.changes = AsyncChanges(sync.changes)
        self.history = AsyncHistory(sync.history)
        self.test = AsyncTestMode(sync)

    me = _call(Nightledger.me)
    availability = _call(Nightledger.availability)
    quote = _call(Nightledger.quote)
    book = _call(Nightledger.book)
    fee_types = _call(Nightledger.fee_types)
    openapi = _call(Nightledger.openapi)
    calendar = _list(Nightledger.calendar)
    search = _list(Nightledger.search)

    async def aclose(self) -> None:
        """Closes the connections that wait for the next call."""
        await asyncio.to_thread(self._sync.close)

    async def __aenter__(self) -> AsyncNightledger:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
