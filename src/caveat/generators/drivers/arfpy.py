"""arfpy: adversarial random forests.

Settings: those of ``arf`` (``num_trees``, ``delta``, ``max_iters``, ``min_node_size``).
"""

FILL_MISSING = True
DATES_AS_NUMBERS = True


def generate(frame, schema, seed, rows, copies, settings):
    """Fit the forests and their densities, then draw."""
    from arfpy import arf

    known = {"verbose": False, "random_state": seed, **settings}
    model = arf.arf(x=frame, **known)
    model.forde()
    made = []
    for _ in range(copies):
        drawn = model.forge(n=max(rows, 2))  # one row alone fails
        for column in schema:
            if "levels" in column:
                drawn[column["name"]] = drawn[column["name"]].astype(object)
        made.append(drawn.head(rows))
    return made
