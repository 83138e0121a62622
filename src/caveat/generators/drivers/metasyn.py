"""metasyn: each column drawn alone, from the distribution that fits it best. No settings."""


def generate(frame, schema, seed, rows, copies, settings):
    """Fit each column and draw it."""
    import polars as pl
    from metasyn import MetaFrame

    columns = {}
    for column in schema:
        name = column["name"]
        cells = frame[name]
        values = [None if gap else value for gap, value in zip(cells.isna(), cells, strict=True)]
        if "levels" in column:
            columns[name] = pl.Series(values, dtype=pl.Categorical)
        elif column["kind"] == "date":
            columns[name] = pl.Series([value and value.date() for value in values])
        elif column["kind"] == "integer":
            columns[name] = pl.Series([value if value is None else int(value) for value in values])
        else:
            columns[name] = pl.Series(values)
    model = MetaFrame.fit_dataframe(pl.DataFrame(columns), progress_bar=False)
    made = []
    for copy in range(copies):
        drawn = model.synthesize(rows, seed=seed + copy, progress_bar=False)
        levels = [c["name"] for c in schema if "levels" in c]
        made.append(drawn.with_columns(pl.col(levels).cast(pl.String)).to_pandas())
    return made
