"""Worksheets: models and inputs in text files, and the built-in examples, which are such files."""

from exactformer.worksheets.inputs import Input
from exactformer.worksheets.reader import WorksheetError
from exactformer.worksheets.worksheet import Worksheet, example_text, examples, load, loads, outlined

__all__ = ["Input", "Worksheet", "WorksheetError", "example_text", "examples", "load", "loads", "outlined"]
