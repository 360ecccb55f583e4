"""Lists, whose pages are read when they are needed. Internal."""

from typing import Any, Callable, Generic, Iterator, List, Mapping, Optional, Set, TypeVar, cast

T = TypeVar('T')
P = TypeVar('P')


class Listing(Generic[T, P]):
    """Each iteration reads the list again, from its beginning."""

    def __init__(self, read: Callable[[], Iterator[P]], name: str, key: Optional[str] = None) -> None:
        # `key`: if pages move while they are read, an item can be on two of them.
        self._read = read
        self._name = name
        self._key = key

    def __iter__(self) -> Iterator[T]:
        seen: Set[str] = set()
        for page in self._read():
            for item in cast(Mapping[str, List[Any]], page)[self._name]:
                if self._key is not None:
                    if item[self._key] in seen:
                        continue
                    seen.add(item[self._key])
                yield item

    def pages(self) -> Iterator[P]:
        """The answers as they come."""
        return self._read()


def by_number(read: Callable[[Mapping[str, Any]], Any]) -> Iterator[Any]:
    page, page_count = 1, 1
    while page <= page_count:
        answer = read({'page': page})
        page_count = answer['pageCount']
        yield answer
        page += 1


def by_arrival(read: Callable[[Mapping[str, Any]], Any]) -> Iterator[Any]:
    """
    Pages by date. The list begins with the latest arrival. If a booking of a page that was read gets an earlier
    arrival, the ones after it move up by one: by number, one of them would be on no page that is read.
    """
    page = 1
    to: Optional[str] = None
    while True:
        answer = read({'page': page} if to is None else {'page': page, 'to': to})
        yield answer
        bookings = answer['bookings']
        if not bookings or len(bookings) < answer['pageSize']:
            return
        last = bookings[-1]['arrival']
        # More than a page arrive on one day: only then the next page.
        page = page + 1 if last == to else 1
        to = last
