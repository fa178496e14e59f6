"""Files of strangers, read strictly: of bounded size, as JSON or TOML without surprises, field by field, each of its kind."""

from exactformer.reading.arrays import Saved, saved_array, saved_arrays, times
from exactformer.reading.documents import json_lines, json_table, json_value, toml_table
from exactformer.reading.number_arrays import Decimal, NumberArray
from exactformer.reading.regular import decoded, open_regular, read_regular
from exactformer.reading.table import Table, described

__all__ = [
    "Decimal", "NumberArray", "Saved", "Table", "decoded", "described", "json_lines", "json_table", "json_value", "open_regular",
    "read_regular", "saved_array", "saved_arrays", "times", "toml_table",
]  # fmt: skip
