"""MQTT as bytes: the codec of all versions, and the machine of one client's connection."""
