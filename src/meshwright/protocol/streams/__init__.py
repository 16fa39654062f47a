"""QoS 1 and 2 between brokers: numbered streams at their origin and at receivers."""
