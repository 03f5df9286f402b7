"""Sets of keys: number `set_id` of the K-element subsets of R entries.

Algorithm 3 of Mostefaoui and Weiss 2017, corrected: as printed it never yields a proper set
(docs/errata.md). This is the lexicographic unranking that it means, with ids from 0, in the order of
itertools.combinations.
"""

import hashlib
from functools import lru_cache
from math import comb


def count_key_sets(k: int, r: int) -> int:
    """How many sets of k keys there are among r entries: set ids are below it."""
    return comb(r, k)


@lru_cache(maxsize=4096)
def unrank_key_set(set_id: int, k: int, r: int) -> tuple[int, ...]:
    """The subset of 0..r-1 with k elements that has this number, 0 <= set_id < comb(r, k)."""
    chosen: list[int] = []
    candidate = 0
    for left in range(k - 1, -1, -1):
        while set_id >= (smaller := comb(r - 1 - candidate, left)):
            set_id -= smaller
            candidate += 1
        chosen.append(candidate)
        candidate += 1
    return tuple(chosen)


def derive_key_set_id(process: str, k: int, r: int) -> int:
    """A set id drawn from the name alone, so that nobody has to agree and nobody's set ever changes."""
    digest = hashlib.blake2b(process.encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big") % count_key_sets(k, r)
