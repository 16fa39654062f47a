"""WHAT A PERSON LOOKS AT: pages of the network, its plans and clients, in a browser."""
