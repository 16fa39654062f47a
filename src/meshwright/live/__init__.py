"""The same brokers on asyncio: sockets, disk, clock."""
