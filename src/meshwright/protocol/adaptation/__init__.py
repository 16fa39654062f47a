"""OCBR in the brokers: a tree that redraws itself, neighbourhood by neighbourhood."""
