"""The directory: which brokers want which filters, which has a client's session, and more."""
