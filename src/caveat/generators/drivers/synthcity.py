"""synthcity: any of its plug-ins, ddpm and bayesian_network among them.

Settings: ``plugin``, and all others are the plug-in's own (``n_iter`` for ddpm).
"""

FILL_MISSING = True
DATES_AS_NUMBERS = True


def generate(frame, schema, seed, rows, copies, settings):
    """Fit a plug-in and draw from it."""
    from synthcity.plugins import Plugins
    from synthcity.plugins.core.dataloader import GenericDataLoader

    known = dict(settings)
    plugin = Plugins().get(known.pop("plugin"), random_state=seed, **known)
    plugin.fit(GenericDataLoader(frame, random_state=seed))
    made = []
    for copy in range(copies):
        drawn = plugin.generate(count=rows, random_state=seed + copy).dataframe()
        made.append(drawn)
    return made
