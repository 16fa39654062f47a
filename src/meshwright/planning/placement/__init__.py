"""WHICH BROKER SERVES WHICH CLIENT: static, by location, by similarity, and bounded [DYNATOPS]."""
