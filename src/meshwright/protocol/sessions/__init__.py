"""One client's session: what enters through it, what waits for it, what it is sent."""
