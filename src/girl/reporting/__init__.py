"""The HTML report and its figures. This package draws what :mod:`girl.evaluation` measured."""
