"""Signed checkpoints of an agency's history, and whether each continues the one before."""

import base64
import hashlib
import json
import re
from typing import List, NamedTuple, Optional

from .errors import HistoryRewrittenError
from .transport import Call, CallOptions, Transport

_NOTE = re.compile(r'(.+)\n(0|[1-9][0-9]{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:.+\n)*\n(?:— .+\n)+')


class Checkpoint(NamedTuple):
    """Stands for an agency's history up to a moment: the root of a Merkle tree (RFC 6962) over its entries."""

    # Names the history. After a restore from a backup it is another one.
    origin: str
    # Entries.
    size: int
    # SHA-256, in base64.
    root: str
    # What the service has signed: keep this.
    note: str


def read_note(note: str) -> Checkpoint:
    """Raises ValueError."""
    found = _NOTE.fullmatch(note)
    if found is None:
        raise ValueError('A checkpoint must be a signed note, as the service has sent it')
    return Checkpoint(found[1], int(found[2]), found[3], note)


class History:
    def __init__(self, http: Transport) -> None:
        self._http = http

    def checkpoint(self, options: Optional[CallOptions] = None) -> Checkpoint:
        """The newest checkpoint. It covers a change within a minute."""
        checkpoint: Checkpoint = self._http.send(Call(('checkpoint',), read=read_note), options)[0]
        return checkpoint

    def verify(self, before: str, after: str, options: Optional[CallOptions] = None) -> None:
        """
        Checks that a history only grew: that of `before` is the beginning of that of `after`. Both are notes of
        checkpoints. Raises HistoryRewrittenError.
        """
        first, last = read_note(before), read_note(after)
        if first.origin == last.origin:
            if first.root == last.root if first.size == last.size else first.size == 0:
                return
            if first.size < last.size:
                query = {'from': first.size, 'to': last.size}
                proof = self._http.send(Call(('checkpoint', 'proof'), query=query, read=_read_proof), options)[0]
                if _is_consistent(first, last, proof):
                    return
        raise HistoryRewrittenError(first, last)


def _read_proof(text: str) -> List[bytes]:
    return [base64.b64decode(each, validate=True) for each in json.loads(text)['hashes']]


def _is_consistent(first: Checkpoint, last: Checkpoint, proof: List[bytes]) -> bool:
    """Whether a proof shows that one tree is the beginning of a larger one (RFC 9162, 2.1.4.2)."""
    roots = base64.b64decode(first.root), base64.b64decode(last.root)
    place, end = first.size - 1, last.size - 1
    while place & 1:
        place, end = place >> 1, end >> 1
    # The proof does not repeat the root of a complete tree.
    path = proof if place else [roots[0], *proof]
    if not path:
        return False
    hashes = path[0], path[0]
    for step in path[1:]:
        if end == 0:
            return False
        if place & 1 or place == end:
            hashes = _node_hash(step, hashes[0]), _node_hash(step, hashes[1])
            while place and not place & 1:
                place, end = place >> 1, end >> 1
        else:
            hashes = hashes[0], _node_hash(hashes[1], step)
        place, end = place >> 1, end >> 1
    return end == 0 and hashes == roots


def _node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b'\1' + left + right).digest()
