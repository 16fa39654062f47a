"""An origin reads who wants a topic: its own key, and that of wildcards, which all topics share.

Each reading must begin after what it is for was taken. So a reading of the wildcards that is under
way does for nobody who comes later; but all who come meanwhile share the next one.
"""

from __future__ import annotations

from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import WILDCARDS, Entries
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.streams.known_interest import KnownInterest


class InterestReading:
    """Readings of one origin, which knows afterwards what they found."""

    def __init__(self, directory: Directory, known: KnownInterest) -> None:
        self._directory = directory
        self._known = known
        self._is_reading_wildcards = False
        self._next_actions: list[Action] = []

    def read(self, turn: Turn, topic: str, done: Action) -> None:
        """Learn all entries by which somebody may want a topic."""

        def got_topic(later: Turn) -> None:
            self._next_actions.append(done)
            if not self._is_reading_wildcards:
                self._read_wildcards(later)

        self._read(turn, topic, got_topic)

    def _read_wildcards(self, turn: Turn) -> None:
        self._is_reading_wildcards = True
        actions, self._next_actions = self._next_actions, []

        def got_wildcards(later: Turn) -> None:
            self._is_reading_wildcards = False
            for action in actions:
                action(later)
            if self._next_actions and not self._is_reading_wildcards:
                self._read_wildcards(later)

        self._read(turn, WILDCARDS, got_wildcards)

    def _read(self, turn: Turn, key: str, done: Action) -> None:
        before = self._known.entries(key)

        def got(later: Turn, entries: Entries) -> None:
            self._known.learn_all(key, entries, before)
            done(later)

        self._directory.get(turn, key, got, known=before)
