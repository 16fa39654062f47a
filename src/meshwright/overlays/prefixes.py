"""Prefix routing: every hop agrees with the target in one leading digit more.

A position knows, for each row (leading digits shared with it) and each other digit in that place,
one position. Of several candidates it is the one nearest to its own mirror image, that is to its
own identifier with that digit replaced: the choice needs no chance, and spreads over the
candidates. Where links are given, candidates that it is linked with come before all others. A hop
depends only on the digits fixed so far, so routes from one root form a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.identifiers import KEY_BITS
from meshwright.model.interests import BoolArray, Int32Array, Int64Array

Distance = Callable[[Int64Array, Int64Array], Int64Array]

DIGIT_BITS = {2: 1, 4: 2, 16: 4, 256: 8}
# More than any distance; times any number of positions it fits 63 bits.
UNLINKED = np.int64(1) << 40


def digit_bits_of(base: int) -> int:
    """Bits of one digit; the digits must fill 32 bits exactly."""
    if base not in DIGIT_BITS:
        allowed = ", ".join(map(str, DIGIT_BITS))
        raise ProblemError(f"Identifiers cannot have digits of base {base}; use one of {allowed}.")
    return DIGIT_BITS[base]


def numeric_distance(first: Int64Array, second: Int64Array) -> Int64Array:
    """How far two identifiers are apart as numbers."""
    distances: Int64Array = np.abs(first - second)
    return distances


@dataclass(frozen=True, slots=True, eq=False)
class PrefixRouting:
    """Prefix routing between positions; ties of `distance` go to the lower position.

    linked: whether two positions are to know each other, (position, position); None if it is open.
    """

    identifiers: Int64Array
    digit_bits: int
    distance: Distance = numeric_distance
    linked: BoolArray | None = None

    @property
    def base(self) -> int:
        return 1 << self.digit_bits

    @property
    def row_count(self) -> int:
        return KEY_BITS // self.digit_bits

    def digit(self, key: int, row: int) -> int:
        """The digit in a place, counted from the most significant."""
        return (key >> self._shift(row)) & (self.base - 1)

    def shared_digits(self, first: int, second: int) -> int:
        """How many leading digits two keys have in common."""
        return (KEY_BITS - (first ^ second).bit_length()) // self.digit_bits

    def entry(self, position: int, row: int, digit: int) -> int | None:
        """The position known for a row and digit; None where no position is."""
        identifier = int(self.identifiers[position])
        change = (digit - self.digit(identifier, row)) << self._shift(row)
        mirror = identifier + change
        start = mirror >> self._shift(row) << self._shift(row)
        low, high = np.searchsorted(self.identifiers, (start, start + (1 << self._shift(row))))
        if low == high:
            return None
        candidates = self.identifiers[low:high]
        distances = self.distance(np.full_like(candidates, mirror), candidates)
        if self.linked is not None:
            distances = np.where(self.linked[position, low:high], distances, distances + UNLINKED)
        return int(low + np.argmin(distances))

    def neighbours(self, position: int) -> list[int]:
        """All positions known to one, by row and digit, itself left out."""
        entries = (
            self.entry(position, row, digit)
            for row in range(self.row_count)
            for digit in range(self.base)
            if digit != self.digit(int(self.identifiers[position]), row)
        )
        return [entry for entry in entries if entry is not None]

    def owner(self, key: int) -> int:
        """The surrogate root: place by place the next digit upward, modulo the base, that exists.

        Every position finds the same one, since all that share a prefix see the same digits.
        """
        members = list(range(len(self.identifiers)))
        for row in range(self.row_count):
            digits = {member: self.digit(int(self.identifiers[member]), row) for member in members}
            wanted = self.digit(key, row)
            step = min((digit - wanted) % self.base for digit in digits.values())
            members = [m for m in members if (digits[m] - wanted) % self.base == step]
        return members[0]

    def next_hop(self, source: int, key: int) -> int:
        """The entry for the first place where the source differs from the key or its surrogate."""
        own = int(self.identifiers[source])
        for row in range(self.row_count):
            wanted = self.digit(key, row)
            for step in range(self.base):
                digit = (wanted + step) % self.base
                if digit == self.digit(own, row):
                    break
                entry = self.entry(source, row, digit)
                if entry is not None:
                    return entry
        return source

    def next_hops(self) -> Int32Array:
        """Next hops between positions: (source, target)."""
        own, others = self.identifiers[:, None], self.identifiers[None, :]
        shifts = self._shifts(own ^ others)
        mirrors = others >> shifts << shifts | own & ((np.int64(1) << shifts) - 1)
        distances = self.distance(mirrors, others)
        if self.linked is not None:
            distances = np.where(self.linked, distances, distances + UNLINKED)
        return self.hops_to_first(distances)

    def hops_to_first(self, ranks: Int64Array) -> Int32Array:
        """Next hops where the entry of a block is its position of least rank: (source, target).

        ranks: (source, target); ties go to the lower position. Targets in the same block (row and
        digit, seen from a source) are consecutive and have the same entry, so one pass finds the
        first of each block.
        """
        count = len(self.identifiers)
        own, others = self.identifiers[:, None], self.identifiers[None, :]
        shifts = self._shifts(own ^ others)
        ranked = ranks * count + np.arange(count)
        starts = np.flatnonzero(self._block_starts(shifts, others >> shifts).ravel())
        nearest = np.minimum.reduceat(ranked.ravel(), starts) % count
        lengths = np.diff(np.append(starts, count * count))
        return np.repeat(nearest.astype(np.int32), lengths).reshape(count, count)

    def owners(self, keys: Int64Array) -> Int32Array:
        """Surrogate roots of keys: (key,)."""
        starts = np.zeros(len(keys), dtype=np.int64)
        for row in range(self.row_count):
            shift = self._shift(row)
            wanted = keys >> shift & (self.base - 1)
            chosen = np.full(len(keys), -1, dtype=np.int64)
            for step in range(self.base):
                blocks = starts + ((wanted + step) % self.base << shift)
                low = np.searchsorted(self.identifiers, blocks)
                high = np.searchsorted(self.identifiers, blocks + (1 << shift))
                chosen = np.where((chosen < 0) & (low < high), blocks, chosen)
                if bool(np.all(chosen >= 0)):
                    break
            starts = chosen
            first = np.searchsorted(self.identifiers, starts)
            if bool(np.all(np.searchsorted(self.identifiers, starts + (1 << shift)) == first + 1)):
                break
        return first.astype(np.int32)

    def _shift(self, row: int) -> int:
        return KEY_BITS - (row + 1) * self.digit_bits

    def _shifts(self, differences: Int64Array) -> Int64Array:
        """Bits below the first digit in which two identifiers differ; 0 if they are equal."""
        _, bit_lengths = np.frexp(differences.astype(np.float64))
        rows_from_below = (np.maximum(bit_lengths, 1) - 1) // self.digit_bits
        return rows_from_below.astype(np.int64) * self.digit_bits

    def _block_starts(self, shifts: Int64Array, prefixes: Int64Array) -> BoolArray:
        """Whether a target opens a block of its source: (source, target)."""
        opens = np.ones(shifts.shape, dtype=np.bool_)
        opens[:, 1:] = (np.diff(shifts, axis=1) != 0) | (np.diff(prefixes, axis=1) != 0)
        return opens
