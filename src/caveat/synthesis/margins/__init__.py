"""Synthesis from margins: tables of a few columns each are all that a release is made from."""
