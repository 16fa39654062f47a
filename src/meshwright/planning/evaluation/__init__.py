"""What an overlay costs under a snapshot, in closed form, for every way of forwarding."""
