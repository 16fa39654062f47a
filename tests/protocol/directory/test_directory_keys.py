"""No client can name a key of the directory that is not its own topic's."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.directory.entries import claim_key, register_key


@pytest.mark.parametrize("prefix", ["$retained/", "$client/", "$wildcards", "$wildcards/"])
def test_a_topic_that_looks_like_a_key_is_a_topic_like_any_other(prefix: str) -> None:
    network = SmallNetwork()
    network.connect("keeper", "b1", session_expiry_s=1_000)
    network.subscribe("keeper", "t")
    network.connect("curious", "b1")
    assert network.subscribe("curious", f"{prefix}keeper")
    assert network.publish("curious", f"{prefix}keeper", "own", retain=True)
    network.connect("other", "b2")
    assert network.subscribe("other", "#")
    network.drop("keeper")
    assert network.publish("other", "t", "one")
    # The session is still found from elsewhere.
    connack = network.connect("keeper", "b0", session_expiry_s=1_000)
    network.advance(2)
    assert connack is None or connack.session_present
    assert network.connected["keeper"] == "b0"
    assert network.payloads("keeper") == ["one"]
    assert "own" in network.payloads("curious")


@pytest.mark.parametrize("key", [register_key("t"), claim_key("c")])
def test_no_subscription_has_the_name_of_a_key(key: str) -> None:
    network = SmallNetwork()
    network.connect("c", "b0")
    network.subscribe("c", key)
    (suback,) = (one for one in network.got["c"] if hasattr(one, "reasons"))
    assert min(suback.reasons) >= 0x80
