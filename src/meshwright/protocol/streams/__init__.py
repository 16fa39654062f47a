"""What a broker owes the network: numbered streams, both ends, and who wants them."""
