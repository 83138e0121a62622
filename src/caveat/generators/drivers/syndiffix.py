"""SynDiffix: a forest of anonymised trees, stitched together.

It decides itself how many rows it makes, with noise: too many are left out at random, and missing
ones are drawn again from those there are. Its randomness is a salt, one per copy. Values of columns
of levels are whole ones of the original (``value_safe_columns``), never prefixes with a star.

Settings: ``target_column`` is not offered; there are none.
"""


def generate(frame, schema, seed, rows, copies, settings):
    """Fit with a salt of its own for each copy."""
    import numpy as np
    from syndiffix import Synthesizer
    from syndiffix.common import AnonymizationParams

    levels = [column["name"] for column in schema if "levels" in column]
    made = []
    for copy in range(copies):
        salt = (seed * 1_000_003 + copy).to_bytes(16, "little")
        drawn = Synthesizer(
            frame,
            anonymization_params=AnonymizationParams(salt=salt),
            value_safe_columns=levels,
        ).sample()
        rng = np.random.default_rng([seed, copy])
        order = rng.permutation(len(drawn))[:rows]
        more = rng.integers(0, len(drawn), max(0, rows - len(order)))
        made.append(drawn.iloc[np.concatenate([order, more])])
    return made
