"""Which messages may be left out when a peer does not keep up.

They carry publications: streams repair what is promised, and QoS 0 promises nothing. All others
wait for room; each of them belongs to something that its sender keeps anyway.
"""

from __future__ import annotations

from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.mobility.proxies import ProxyAnswer, ProxyPacket
from meshwright.protocol.mqtt.packets import Publish
from meshwright.protocol.shared.messages import QOS0, Handed


def is_spare(message: object) -> bool:
    """True if somebody sends the message again if need be, or nobody has to."""
    if isinstance(message, Handed):
        return message.hand == QOS0
    if isinstance(message, ProxyPacket | ProxyAnswer):
        return isinstance(message.packet, Publish) and not message.packet.qos
    return isinstance(message, PeerMessage) and message.counts_as == "publication"
