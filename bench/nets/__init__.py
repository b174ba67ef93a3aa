"""The networks that bench/models.py writes, by where they come from."""
