"""The brokers that run, and the lease by which one manager at a time commands them."""
