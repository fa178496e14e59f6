"""Steps, and the record of a pass."""

from exactformer.trace.trace import Output, Step, Trace, run

__all__ = ["Output", "Step", "Trace", "run"]
