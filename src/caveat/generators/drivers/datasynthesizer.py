"""DataSynthesizer: a Bayesian network (PrivBayes), with noise where epsilon is not 0.

Settings: ``epsilon`` (0 for no noise), ``mode`` ("correlated" or "independent"), ``k`` (parents of
a column), ``histogram_bins``.
"""

FILL_MISSING = True
DATES_AS_NUMBERS = True


def generate(frame, schema, seed, rows, copies, settings):
    """Describe the table, then draw from the description."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    frame.to_csv("data.csv", index=False)
    mode = settings.get("mode", "correlated") if frame.shape[1] > 1 else "independent"
    levels = {column["name"]: "levels" in column for column in schema}
    kinds = {
        name: "String" if is_level else ("Float" if frame[name].dtype.kind == "f" else "Integer")
        for name, is_level in levels.items()
    }
    describer = DataDescriber(histogram_bins=settings.get("histogram_bins", 20))
    known = {
        "dataset_file": "data.csv",
        "attribute_to_datatype": kinds,
        "attribute_to_is_categorical": levels,
        "attribute_to_is_candidate_key": dict.fromkeys(levels, False),
        "epsilon": settings.get("epsilon", 0),
        "seed": seed,
    }
    if mode == "correlated":
        k = min(settings.get("k", 2), frame.shape[1] - 1)
        describer.describe_dataset_in_correlated_attribute_mode(k=k, **known)
    else:
        describer.describe_dataset_in_independent_attribute_mode(**known)
    describer.save_dataset_description_to_file("description.json")
    generator = DataGenerator()
    draw = {
        "correlated": generator.generate_dataset_in_correlated_attribute_mode,
        "independent": generator.generate_dataset_in_independent_mode,
    }[mode]
    made = []
    for copy in range(copies):
        draw(rows, "description.json", seed=(seed + 7919 * copy) % 2**31)
        made.append(generator.synthetic_dataset[list(frame)].copy())
    return made
