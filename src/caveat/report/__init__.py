"""The report: one page for a review board, written from evidence and never from data."""

from caveat.report.render import markdown, render

__all__ = ["markdown", "render"]
