"""Programs in the manner of RASP, compiled to exact models: what they say of all inputs up to a length is proved.

>>> from exactformer.programs import count, program, select, tokens
>>> histogram = program(count(select(tokens, tokens, "==")), "ab", name="histogram")
>>> histogram("aba")
[2, 1, 2]
>>> histogram.prove(length=3).verdict
'proved'
"""

from exactformer.programs.compiling import BOS
from exactformer.programs.library import PROGRAMS
from exactformer.programs.operators import ProgramError, apply, indices, tokens
from exactformer.programs.program import Program, program
from exactformer.programs.selectors import aggregate, count, mean, select

__all__ = [
    "BOS", "PROGRAMS", "Program", "ProgramError", "aggregate", "apply", "count", "indices", "mean", "program", "select", "tokens",
]  # fmt: skip
