"""Steps, and the record of a pass."""

from exactformer.model.step import Step
from exactformer.trace.ablation import Ablation, ablate
from exactformer.trace.explaining import explain
from exactformer.trace.explanation import Contribution, Explanation
from exactformer.trace.gradient import Descent, Gradient, descend, gradient, ones_at_the_end, usual_gradient
from exactformer.trace.lens import Lens, Look
from exactformer.trace.trace import Output, Trace, run

__all__ = [
    "Ablation", "Contribution", "Descent", "Explanation", "Gradient", "Lens", "Look", "Output", "Step", "Trace", "ablate",
    "descend", "explain", "gradient", "ones_at_the_end", "run", "usual_gradient",
]  # fmt: skip
