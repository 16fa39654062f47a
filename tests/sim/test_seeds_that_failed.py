"""Seeds in which something was lost once, each with what it found out."""

from __future__ import annotations

import pytest

from meshwright.sim.runs.simulation import simulate
from meshwright.sim.scenario.parameters import SimulationParameters


@pytest.mark.parametrize(
    ("design", "seed"),
    [
        pytest.param("chord", 765, id="joined-while-a-restarted-origin-announced-its-topic"),
        pytest.param("chord", 142, id="wildcard-told-of-a-topic-whose-answer-was-void"),
    ],
)
def test_what_was_lost_once_is_delivered(design: str, seed: int) -> None:
    parameters = SimulationParameters(
        design=design,
        duration_s=6.0,
        faults=("crash", "partition"),
        mobility="standard",
        reconfigure=True,
    )
    assert not simulate(parameters, seed).failures


def test_an_origin_that_confirms_an_older_wish_last_is_known_to_know_all() -> None:
    """A broker that had said all anew waited for ever for what everybody had confirmed before."""
    parameters = SimulationParameters(
        design="tree",
        brokers=10,
        clients=17,
        topics=4,
        duration_s=5.0,
        publications_per_s=17.0,
        changes_per_s=2.31,
        wildcard_share=0.31,
        content_share=0.22,
        shared_share=0.42,
        persistent_share=0.49,
        moves_per_s=3.24,
        faults=("crash", "slow", "never_returns", "ambush", "joins"),
        adapts=True,
    )
    assert not simulate(parameters, 33142).failures


def test_who_brings_filters_and_whose_session_is_asked_for_anew_is_let_in() -> None:
    """A broker died when told to take filters that it had dropped while it asked."""
    parameters = SimulationParameters(
        design="tree",
        brokers=4,
        clients=12,
        duration_s=8.0,
        faults=("disconnect",),
        mobility="prefetching+logging+device",
        topics=2,
        filters_per_client=2,
        publications_per_s=64.0,
        changes_per_s=2.14,
        moves_per_s=13.2,
        qos_weights=(0.1, 0.5, 0.4),
        wildcard_share=0.1,
        content_share=0.01,
        shared_share=1.0,
        persistent_share=0.67,
    )
    assert not simulate(parameters, 37069).failures


def test_an_origin_that_has_not_read_who_is_owed_what_does_not_say_that_nobody_is() -> None:
    """The next keeper of a group asked an origin that had just been started again."""
    parameters = SimulationParameters(
        design="hypercube",
        brokers=4,
        clients=23,
        duration_s=9.0,
        faults=("crash", "skew", "never_returns", "ambush", "joins"),
        reconfigure=True,
        topics=6,
        filters_per_client=1,
        publications_per_s=38.0,
        changes_per_s=3.11,
        moves_per_s=1.44,
        wildcard_share=0.11,
        content_share=0.12,
        shared_share=0.73,
        retained_share=0.45,
        persistent_share=0.71,
    )
    assert not simulate(parameters, 33158).failures


def test_a_new_keeper_does_not_hand_out_what_comes_late_and_the_former_one_has_handed_out() -> None:
    """An origin that was started again sent the new keeper what the former one had got."""
    parameters = SimulationParameters(
        design="tapestry",
        brokers=7,
        clients=6,
        duration_s=9.0,
        faults=("crash", "partition", "never_returns", "ambush", "joins"),
        mobility="home",
        topics=4,
        filters_per_client=3,
        publications_per_s=22.0,
        changes_per_s=5.08,
        moves_per_s=4.07,
        wildcard_share=0.39,
        content_share=0.22,
        shared_share=0.4,
        retained_share=0.2,
        persistent_share=0.67,
    )
    assert not simulate(parameters, 33276).failures


def test_a_session_that_goes_ahead_of_its_client_does_not_expire_by_another_clock() -> None:
    """It took along since when its client was away, of a clock that was twenty seconds off."""
    parameters = SimulationParameters(
        design="chord",
        clients=9,
        faults=("partition", "stuck", "skew"),
        reconfigure=True,
        mobility="prefetching+logging",
        duration_s=8.0,
        topics=6,
        filters_per_client=1,
        publications_per_s=33.0,
        changes_per_s=6.0,
        moves_per_s=3.9,
        retained_share=0.2,
        tight=True,
        will_share=0.6,
    )
    assert not simulate(parameters, 710105).failures


def test_a_session_comes_with_its_will_only_where_there_is_room() -> None:
    """Sessions of clients at two brokers brought wills, which went past the bound of the log."""
    parameters = SimulationParameters(
        design="quadtree",
        brokers=3,
        clients=12,
        duration_s=8.0,
        faults=("partition", "slow", "disk_full", "never_returns", "ambush"),
        topics=8,
        publications_per_s=22.0,
        changes_per_s=0.1,
        moves_per_s=1.6,
        doubles_per_s=4.0,
        tight=True,
        forgets=True,
        will_share=0.4,
    )
    assert not simulate(parameters, 818041).failures


def test_a_clean_start_that_its_client_gave_up_costs_no_order_in_the_next_session() -> None:
    """It was seen to after the next one: the session that the client found was not its own."""
    parameters = SimulationParameters(
        design="quadtree",
        brokers=4,
        clients=9,
        duration_s=8.0,
        faults=("partition", "disconnect", "slow", "stuck", "skew", "ambush", "joins"),
        reconfigure=True,
        topics=4,
        filters_per_client=1,
        publications_per_s=55.0,
        changes_per_s=13.0,
        moves_per_s=4.6,
        doubles_per_s=2.0,
        shared_share=0.3,
        forgets=True,
        will_share=0.6,
    )
    assert not simulate(parameters, 750863).failures


def test_a_network_is_watched_for_loops_once_nobody_waits_for_anything() -> None:
    """What an origin could only send once a lost broker was removed was taken for a loop."""
    parameters = SimulationParameters(
        design="harary",
        brokers=6,
        clients=7,
        faults=("crash", "never_returns", "joins"),
        reconfigure=True,
        k=3,
        topics=6,
        filters_per_client=1,
        publications_per_s=23.0,
        changes_per_s=0.8,
        moves_per_s=3.2,
        shared_share=0.3,
        tight=True,
        will_share=0.6,
    )
    assert not simulate(parameters, 730011).failures


def test_a_will_is_published_once_though_its_session_was_given_when_its_client_began_anew() -> None:
    """Both brokers took their copy of the session for over, and each published its will."""
    parameters = SimulationParameters(
        design="chord",
        brokers=7,
        clients=26,
        duration_s=11.0,
        faults=("partition", "slow", "stuck", "disk_full", "ambush", "joins"),
        mobility="prefetching+logging+device",
        gathers=True,
        topics=5,
        publications_per_s=6.0,
        changes_per_s=1.1,
        moves_per_s=4.4,
        tight=True,
        forgets=True,
        will_share=0.6,
    )
    assert not simulate(parameters, 880042).failures


def test_what_waits_at_a_broker_goes_before_what_that_broker_owes_itself() -> None:
    """It was left out, as nobody was owed it, and what came behind it waited for ever."""
    parameters = SimulationParameters(
        design="pastry",
        brokers=3,
        clients=12,
        duration_s=6.0,
        faults=("crash", "joins"),
        reconfigure=True,
        gathers=True,
        topics=5,
        filters_per_client=1,
        publications_per_s=78.0,
        changes_per_s=10.0,
        moves_per_s=3.9,
        retained_share=0.2,
    )
    assert not simulate(parameters, 15167).failures


def test_who_waits_while_something_is_kept_for_a_broker_that_is_gone_is_given_the_time() -> None:
    """A run was over before origins had let go of what nobody could ask for any more."""
    parameters = SimulationParameters(
        design="tapestry",
        brokers=10,
        clients=9,
        duration_s=9.0,
        faults=(
            "crash", "partition", "slow", "skew", "disk_full", "never_returns", "ambush", "joins",
        ),
        mobility="prefetching+logging+device",
        topics=5,
        filters_per_client=1,
        publications_per_s=39.0,
        changes_per_s=11.0,
        moves_per_s=3.8,
        tight=True,
        forgets=True,
    )  # fmt: skip
    assert not simulate(parameters, 15028).failures


def test_what_a_former_keeper_handed_out_does_not_come_again_in_the_stream() -> None:
    """Its successor was sent it too, and left out only what was of QoS 2."""
    parameters = SimulationParameters(
        design="gm",
        brokers=7,
        clients=30,
        duration_s=14.0,
        faults=("crash", "partition", "disconnect", "disk_full", "never_returns", "joins"),
        reconfigure=True,
        gathers=True,
        topics=6,
        filters_per_client=1,
        publications_per_s=24.0,
        changes_per_s=3.0,
        moves_per_s=3.6,
        shared_share=0.3,
        retained_share=0.2,
        forgets=True,
        will_share=0.4,
    )
    assert not simulate(parameters, 15092).failures


def test_a_subscription_waits_for_an_origin_that_has_yet_to_be_told_what_it_missed() -> None:
    """It was granted though an origin that had come back did not know of it, and said so later."""
    parameters = SimulationParameters(
        design="gm",
        brokers=3,
        clients=26,
        duration_s=8.0,
        faults=("crash", "stuck", "skew", "disk_full"),
        reconfigure=True,
        mobility="prefetching",
        topics=13,
        filters_per_client=4,
        publications_per_s=34.0,
        changes_per_s=2.5,
        moves_per_s=2.1,
        ordered=True,
    )
    assert not simulate(parameters, 19432).failures


def test_a_session_that_its_next_broker_had_not_on_disk_goes_with_the_last_one() -> None:
    """Not lost by the brokers: one was gone for good, the other crashed before its disk synced."""
    parameters = SimulationParameters(
        design="dynatops",
        brokers=5,
        clients=17,
        topics=5,
        duration_s=5.0,
        publications_per_s=26.0,
        changes_per_s=2.1,
        shared_share=0.3,
        faults=("crash", "never_returns", "joins"),
        mobility="prefetching+logging+device",
        tight=True,
        ordered=True,
    )
    assert not simulate(parameters, 30109).failures
