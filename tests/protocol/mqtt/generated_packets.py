"""Packets of all kinds for laws: what a version cannot say keeps its default."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from meshwright.model.publication import Extras
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5
from meshwright.protocol.mqtt.reasons import (
    AUTH_REASONS,
    CONNACK_REASONS,
    DISCONNECT_REASONS,
    PUBLISH_REASONS,
    RELEASE_REASONS,
    RETURN_CODES,
    SUBACK_REASONS,
    UNSUBACK_REASONS,
)

VERSIONS = (MQTT_3_1, MQTT_3_1_1, MQTT_5)

Packets = st.SearchStrategy[Any]

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
topics = st.text("abcé/ 木", min_size=1, max_size=150)
filter_texts = st.sampled_from(["a", "a/#", "+/b", "$share/g/a/+", "$where/n>1/a"]) | topics
binaries = st.binary(max_size=12)
shorts = st.integers(1, 65_535)
numbers = st.integers(1, 0xFFFF_FFFF)
pairs = st.lists(st.tuples(texts, texts), max_size=3).map(tuple)
payloads = st.binary(max_size=300)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


extras = st.builds(
    Extras, maybe(st.integers(0, 1)), maybe(texts), maybe(topics), maybe(binaries)
).filter(lambda one: one != Extras())


def from_clients(version: int) -> Packets:
    """All that a client may say after CONNECT."""
    return st.one_of(
        publishes(version, is_server=False),
        answers(version),
        st.builds(
            packets.Subscribe, shorts, subscriptions(version), **_if_5(version, properties=pairs)
        ),
        st.builds(
            packets.Unsubscribe,
            shorts,
            st.lists(filter_texts, min_size=1, max_size=3).map(tuple),
            **_if_5(version, properties=pairs),
        ),
        st.just(packets.Pingreq()),
        st.builds(
            packets.Disconnect,
            **_if_5(
                version,
                reason=st.sampled_from(sorted(DISCONNECT_REASONS)),
                session_expiry_s=maybe(numbers),
                reason_text=maybe(texts),
                properties=pairs,
            ),
        ),
        *([auths] if version == MQTT_5 else []),
    )


def from_servers(version: int) -> Packets:
    """All that a server may say."""
    is_5 = version == MQTT_5
    refusals = sorted(UNSUBACK_REASONS) if is_5 else []
    refused = [] if version == MQTT_3_1 else [0x80]
    granted = sorted(SUBACK_REASONS) if is_5 else [0, 1, 2, *refused]
    told = _if_5(version, reason_text=maybe(texts), properties=pairs)
    reasons = st.lists(st.sampled_from(granted), max_size=4).map(tuple)
    ended = st.lists(st.sampled_from(refusals), max_size=4).map(tuple) if is_5 else st.just(())
    return st.one_of(
        publishes(version, is_server=True),
        answers(version),
        connacks(version),
        st.builds(packets.Suback, shorts, reasons, **told),
        st.builds(packets.Unsuback, shorts, ended, **told),
        st.just(packets.Pingresp()),
        *([auths, disconnects] if is_5 else []),
    )


def publishes(version: int, *, is_server: bool) -> Packets:
    options = _if_5(version, properties=pairs, expiry_s=maybe(numbers), extras=maybe(extras))
    if version == MQTT_5 and is_server:
        identifiers = st.lists(st.integers(1, 268_435_455), max_size=3).map(tuple)
        options["subscription_ids"] = identifiers
    flags = st.booleans()
    return st.builds(packets.Publish, topics, payloads, st.just(0), flags, **options) | st.builds(
        packets.Publish, topics, payloads, st.integers(1, 2), flags, shorts, flags, **options
    )


def answers(version: int) -> Packets:
    told = _if_5(version, reason_text=maybe(texts), properties=pairs)
    to_publish = _if_5(version, reason=st.sampled_from(sorted(PUBLISH_REASONS)))
    to_release = _if_5(version, reason=st.sampled_from(sorted(RELEASE_REASONS)))
    return st.one_of(
        st.builds(packets.Puback, shorts, **to_publish, **told),
        st.builds(packets.Pubrec, shorts, **to_publish, **told),
        st.builds(packets.Pubrel, shorts, **to_release, **told),
        st.builds(packets.Pubcomp, shorts, **to_release, **told),
    )


def subscriptions(version: int) -> st.SearchStrategy[tuple[packets.Subscription, ...]]:
    """Filters of one SUBSCRIBE: they have one identifier together."""
    one = st.builds(
        packets.Subscription,
        filter_texts,
        st.integers(0, 2),
        **_if_5(
            version,
            retain_as_published=st.booleans(),
            retain_handling=st.integers(0, 2),
        ),
    )
    plain = st.lists(one, min_size=1, max_size=3).map(tuple)
    if version != MQTT_5:
        return plain
    local = st.builds(packets.Subscription, topics, no_local=st.just(True))
    listed = st.lists(one | local, min_size=1, max_size=3)
    return st.builds(_identified, listed, st.integers(0, 268_435_455))


def connects(version: int) -> Packets:
    wills = st.builds(
        packets.Will,
        topics,
        binaries,
        st.integers(0, 2),
        st.booleans(),
        **_if_5(
            version,
            properties=pairs,
            delay_s=st.integers(0, 0xFFFF_FFFF),
            expiry_s=maybe(numbers),
            extras=maybe(extras),
        ),
    )
    fixed: dict[str, Any] = {
        "client_id": st.text("abc", min_size=1, max_size=23),
        "will": maybe(wills),
        "keep_alive_s": st.integers(0, 65_535),
        "protocol_version": st.just(version),
        "can_be_redirected": st.just(version == MQTT_5),
    }
    if version != MQTT_5:
        named = st.builds(packets.Connect, user_name=texts, password=maybe(binaries), **fixed)
        return (named | st.builds(packets.Connect, **fixed)).map(_as_in_mqtt_3)
    return st.builds(
        packets.Connect,
        clean_start=st.booleans(),
        session_expiry_s=st.integers(0, 0xFFFF_FFFF),
        receive_maximum=shorts,
        user_name=maybe(texts),
        password=maybe(binaries),
        maximum_packet_size=maybe(numbers),
        topic_alias_maximum=st.integers(0, 65_535),
        request_response_information=st.booleans(),
        request_problem_information=st.booleans(),
        properties=pairs,
        authentication_method=st.just("SCRAM"),
        authentication_data=maybe(binaries),
        **fixed,
    )


def connacks(version: int) -> Packets:
    if version != MQTT_5:
        codes = st.sampled_from(sorted(RETURN_CODES.values()))
        accepted = st.booleans() if version == MQTT_3_1_1 else st.just(False)
        return st.builds(packets.Connack, accepted) | st.builds(
            packets.Connack, st.just(False), codes
        )
    reasons = st.sampled_from(sorted(CONNACK_REASONS))
    return st.builds(packets.Connack, st.just(False), reasons, **_terms) | st.builds(
        packets.Connack, st.booleans(), **_terms
    )


_terms: dict[str, Any] = {
    "server_reference": maybe(texts),
    "session_expiry_s": maybe(st.integers(0, 0xFFFF_FFFF)),
    "receive_maximum": shorts,
    "maximum_qos": st.integers(0, 2),
    "retain_available": st.booleans(),
    "maximum_packet_size": maybe(numbers),
    "assigned_client_id": maybe(texts),
    "topic_alias_maximum": st.integers(0, 65_535),
    "reason_text": maybe(texts),
    "properties": pairs,
    "wildcard_subscriptions_available": st.booleans(),
    "subscription_identifiers_available": st.booleans(),
    "shared_subscriptions_available": st.booleans(),
    "server_keep_alive_s": maybe(st.integers(0, 65_535)),
    "response_information": maybe(texts),
    "authentication_method": maybe(texts),
    "authentication_data": maybe(binaries),
}
auths = st.builds(
    packets.Auth,
    st.sampled_from(sorted(AUTH_REASONS)),
    maybe(texts),
    maybe(binaries),
    maybe(texts),
    pairs,
)
disconnects = st.builds(
    packets.Disconnect,
    st.sampled_from(sorted(DISCONNECT_REASONS)),
    server_reference=maybe(texts),
    reason_text=maybe(texts),
    properties=pairs,
)


def _if_5(version: int, **options: Any) -> dict[str, Any]:
    return options if version == MQTT_5 else {}


def _identified(
    listed: list[packets.Subscription], identifier: int
) -> tuple[packets.Subscription, ...]:
    return tuple(
        packets.Subscription(
            one.filter_text,
            one.qos,
            one.no_local,
            one.retain_as_published,
            one.retain_handling,
            identifier,
        )
        for one in listed
    )


def _as_in_mqtt_3(packet: packets.Connect) -> packets.Connect:
    """Half of the clients keep their session for ever, the others begin anew each time."""
    if packet.keep_alive_s % 2:
        return msgspec.structs.replace(packet, session_expiry_s=0xFFFF_FFFF)
    return msgspec.structs.replace(packet, clean_start=True)
