"""FROM TODAY TO A BETTER NETWORK: one door to a plan for any design, client moves included."""
