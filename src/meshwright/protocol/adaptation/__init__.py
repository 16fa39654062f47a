"""Lets brokers redraw a tree overlay to fit its traffic, star by star [OCBR]."""
