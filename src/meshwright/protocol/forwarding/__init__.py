"""How frames travel between brokers: four machines behind one interface."""
