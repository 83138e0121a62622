"""What all 95 % intervals share."""

__all__ = ["Z95"]

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""
