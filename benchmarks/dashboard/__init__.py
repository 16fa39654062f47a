"""A manager over brokers that are made up, as many as no machine here could run."""
