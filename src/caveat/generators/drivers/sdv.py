"""SDV: GaussianCopula, CTGAN or TVAE.

Settings: ``synthesizer``, and all others are its own (``epochs``, ``batch_size``, …).
"""


def generate(frame, schema, seed, rows, copies, settings):
    """Fit with kinds that are said, not guessed, and draw."""
    import warnings

    import sdv.single_table
    import torch
    from sdv.metadata import Metadata

    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    known = dict(settings)
    make = getattr(sdv.single_table, f"{known.pop('synthesizer')}Synthesizer")
    columns = {}
    for column in schema:
        sort = "numerical" if column["kind"] in ("integer", "number") else "datetime"
        columns[column["name"]] = {"sdtype": "categorical" if "levels" in column else sort}
    metadata = Metadata.load_from_dict({"tables": {"table": {"columns": columns}}})
    model = make(metadata, **known)
    model.fit({"table": frame})
    model._set_random_state(seed)  # its own way to begin elsewhere than always at the same place
    made = []
    for _ in range(copies):
        drawn = model.sample(num_rows=rows)
        made.append(drawn["table"] if isinstance(drawn, dict) else drawn)
    return made
