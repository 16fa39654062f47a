"""The mobility policies: how a session follows its client; all brokers have the same ones.

standard: the new broker fetches the session. The other policies change that, and can be combined.
    prefetching sends the session ahead to the broker where the client probably goes. logging leaves
    out publications that the new broker has seen anyway. watching does so too, and has the brokers
    where the client may come next see what it wants. device takes the filters from the client. home
    leaves the session where it began, so that nothing moves and the others have little to do.
"""

from __future__ import annotations

import msgspec

from meshwright.errors import ProblemError

POLICIES = ("standard", "prefetching", "logging", "home", "device", "watching")


class MobilitySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which policies are on, and their limits.

    log_max: how many publications a broker remembers to have seen.
    visits_max: how many brokers a session remembers to have been at.
    away_s, transfer_s: how long a client is expected to be away and a session to be on its way, for
        the cost rule of prefetching.
    expected: for clients of which it is known, the broker where they go next; may be filled later.
    watchers_max: how many brokers watch for a client that is away.
    watch_s: after this time they stop, if nobody tells them to.
    """

    policies: tuple[str, ...] = ("standard",)
    log_max: int = 1_000
    visits_max: int = 64
    away_s: float = 600.0
    transfer_s: float = 1.0
    expected: dict[str, str] = {}
    watchers_max: int = 3
    watch_s: float = 7_200.0

    def __post_init__(self) -> None:
        for name in self.policies:
            if name not in POLICIES:
                known = ", ".join(POLICIES)
                raise ProblemError(
                    f"There is no mobility policy {name!r}; choose from {known}, joined by '+'."
                )

    def has(self, policy: str) -> bool:
        return policy in self.policies


def parse_policies(text: str) -> tuple[str, ...]:
    """Read policies joined by '+', such as logging+device; unknown ones are refused."""
    return MobilitySettings(policies=tuple(text.split("+"))).policies
