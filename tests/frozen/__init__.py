"""What no change of the code may move: tables, measurements and refusals, as one file of hashes."""
