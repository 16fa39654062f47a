"""Shared subscriptions: a keeper hands each message of a group to one of its members."""
