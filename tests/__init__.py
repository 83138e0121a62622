"""The tests; a package, for some distributions install a top-level package of the same name."""
