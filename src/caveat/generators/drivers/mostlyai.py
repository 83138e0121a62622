"""mostlyai-engine: an autoregressive network for tables (TabularARGN).

Settings: those of its training (``max_epochs``, ``max_training_time`` in minutes, ``batch_size``).
Rare levels are replaced by others of the same column, never by a word of its own.
"""

import shutil
from pathlib import Path


def generate(frame, schema, seed, rows, copies, settings):
    """Train, then draw copy after copy."""
    import pandas as pd
    from mostlyai import engine

    engine.set_random_state(random_state=seed)
    sorts = {"integer": "TABULAR_NUMERIC_AUTO", "number": "TABULAR_NUMERIC_AUTO"}
    kinds = {
        column["name"]: "TABULAR_CATEGORICAL"
        if "levels" in column
        else sorts.get(column["kind"], "TABULAR_DATETIME")
        for column in schema
    }
    place = {"workspace_dir": "engine"}
    engine.split(tgt_data=frame, tgt_encoding_types=kinds, **place)
    engine.analyze(**place)
    engine.encode(**place)
    engine.train(device="cpu", **settings, **place)
    made, folder = [], Path("engine", "SyntheticData")
    for copy in range(copies):
        engine.set_random_state(random_state=seed + 1 + copy)
        shutil.rmtree(folder, ignore_errors=True)
        engine.generate(
            sample_size=rows, device="cpu", rare_category_replacement_method="SAMPLE", **place
        )
        made.append(pd.read_parquet(folder).reset_index(drop=True).head(rows))
    return made
