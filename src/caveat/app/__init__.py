"""``caveat app``: from a file to a decision in the browser, on this machine.

Routes and templates, nothing else: every step writes the ``release.toml`` that the command line
takes, and whatever takes long is a process of its own.
"""
