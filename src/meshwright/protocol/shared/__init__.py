"""Shared subscriptions: a keeper hands messages of a group to its members."""
