"""The data types of MQTT, read from a packet's body and written as bytes."""

from __future__ import annotations

from meshwright.errors import MqttError
from meshwright.protocol.mqtt.packets import MALFORMED_PACKET, PROTOCOL_ERROR

VARIABLE_INTEGER_MAX = 268_435_455
BINARY_BYTES_MAX = 65_535


class Body:
    """What is left of a packet's body: buffer[at:stop]; reading moves at forward."""

    __slots__ = ("at", "buffer", "stop")

    def __init__(self, buffer: bytes, at: int, stop: int) -> None:
        self.buffer = buffer
        self.at = at
        self.stop = stop

    def byte(self) -> int:
        at = self.at
        if at >= self.stop:
            raise ends_early()
        self.at = at + 1
        return self.buffer[at]

    def two_bytes(self) -> int:
        return int.from_bytes(self._take(2))

    def four_bytes(self) -> int:
        return int.from_bytes(self._take(4))

    def variable_integer(self) -> int:
        """One to four bytes of seven bits, the lowest first, and no byte more than needed."""
        at = self.at
        if at < self.stop and self.buffer[at] < 0x80:
            self.at = at + 1
            return self.buffer[at]
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if shift and not byte:
                    raise malformed("a variable byte integer takes more bytes than it needs")
                return value
        raise malformed("a variable byte integer takes more than four bytes")

    def text(self) -> str:
        return text_of(self.binary())

    def binary(self) -> bytes:
        buffer, at = self.buffer, self.at + 2
        if at > self.stop:
            raise ends_early()
        stop = at + (buffer[at - 2] << 8 | buffer[at - 1])
        if stop > self.stop:
            raise ends_early()
        self.at = stop
        return buffer[at:stop]

    def pair(self) -> tuple[str, str]:
        return text_of(self.binary()), text_of(self.binary())

    def rest(self) -> bytes:
        return self._take(self.stop - self.at)

    def is_over(self) -> bool:
        return self.at >= self.stop

    def end(self) -> None:
        """Refuse bytes that nobody asked for."""
        if self.at != self.stop:
            raise malformed(f"{self.stop - self.at} bytes follow the end of the packet's content")

    def _take(self, count: int) -> bytes:
        at = self.at
        stop = at + count
        if stop > self.stop:
            raise ends_early()
        self.at = stop
        return self.buffer[at:stop]


def text_of(raw: bytes) -> str:
    """Bytes as text; surrogates, overlong forms and U+0000 are refused, as the standard says."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise malformed("a text is not well-formed UTF-8") from error
    if "\0" in text:
        raise malformed("a text holds the character U+0000")
    return text


def malformed(problem: str) -> MqttError:
    """What cannot be parsed."""
    return MqttError(MALFORMED_PACKET, problem)


def protocol_error(problem: str) -> MqttError:
    """What can be parsed, and is not allowed."""
    return MqttError(PROTOCOL_ERROR, problem)


def ends_early() -> MqttError:
    """A packet whose length is too small for what it must hold."""
    return malformed("a packet ends before its content")


def variable_integer(value: int) -> bytes:
    """A length or an identifier in one to four bytes."""
    if value < 0x80:
        return value.to_bytes(1)
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def byte(value: int) -> bytes:
    """One byte; True is 1."""
    return int(value).to_bytes(1)


def two_bytes(value: int) -> bytes:
    """A short number."""
    return value.to_bytes(2)


def four_bytes(value: int) -> bytes:
    """A long number."""
    return value.to_bytes(4)


def text(value: str) -> bytes:
    """Text, after its length in bytes."""
    return binary(value.encode())


def binary(value: bytes) -> bytes:
    """Bytes, after their length."""
    return len(value).to_bytes(2) + value


def pair(value: tuple[str, str]) -> bytes:
    """A name and its value."""
    return text(value[0]) + text(value[1])
