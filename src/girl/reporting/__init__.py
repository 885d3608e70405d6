"""Figures and pages, drawn from results that were written as JSON."""
