"""The specification of a release: one table of entries, checked with the line of each mistake."""
