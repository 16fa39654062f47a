"""What Mosquitto's own files say, as files of a Meshwright broker."""
