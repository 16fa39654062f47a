"""HOW BROKERS ARE JOINED: pure geometry, as plain functions and as arrays for planners."""
