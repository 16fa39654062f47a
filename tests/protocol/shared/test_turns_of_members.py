"""Members of a shared subscription take turns as the plain look at all of them says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from meshwright.protocol.shared.group import Candidate, Group
from meshwright.protocol.shared.messages import Member

BROKERS = ("b0", "b1", "b2")
CLIENTS = ("anna", "bert", "carl", "dora")
MEMBERS = st.dictionaries(
    st.sampled_from(BROKERS),
    st.lists(
        st.builds(Member, st.sampled_from(CLIENTS), st.integers(0, 2), st.booleans()),
        unique_by=lambda member: member.client,
    ).map(tuple),
)


def plain_next_candidate(group: Group, tried: set[str], lost: set[str]) -> Candidate | None:
    def rank(candidate: Candidate) -> tuple[bool, bool, bool, bool, tuple[str, str]]:
        at = (candidate.member.client, candidate.broker)
        is_tried, is_away = candidate.member.client in tried, not candidate.member.is_connected
        return (candidate.broker in lost, is_tried, is_away, at <= group.last, at)

    return min(group.candidates(), key=rank, default=None)


@given(
    MEMBERS,
    st.tuples(st.sampled_from(("", *CLIENTS)), st.sampled_from(BROKERS)),
    st.sets(st.sampled_from(CLIENTS)),
    st.sets(st.sampled_from(BROKERS)),
)
def test_the_next_is_the_best_after_who_was_last(
    members: dict[str, tuple[Member, ...]],
    last: tuple[str, str],
    tried: set[str],
    lost: set[str],
) -> None:
    group = Group("$share/g/t")
    group.members, group.last = members, last
    for _ in range(3):
        candidate = group.next_candidate(tried, lost.__contains__)
        expected = plain_next_candidate(group, tried, lost)
        assert candidate == expected
        if candidate is not None:
            group.last = (candidate.member.client, candidate.broker)
