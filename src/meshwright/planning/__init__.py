"""WHAT THE NETWORK SHOULD LOOK LIKE: pure functions from a snapshot to a plan."""
