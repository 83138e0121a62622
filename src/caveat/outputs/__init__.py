"""Tables and other outputs that are published beside the data."""
