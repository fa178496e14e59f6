"""What each operation does, in words, as text and as LaTeX; what it reads is filled in."""

from __future__ import annotations

from typing import NamedTuple

from exactformer.model import Config


class Description(NamedTuple):
    title: str
    formula: str
    latex: str


# {0}, {1}, … stand for the steps and weights that are read
_OPERATIONS: dict[str, Description] = {
    "lookup": Description("look up", "{1}[{0}]", r"{1}[{0}]"),
    "table": Description("look up the position", "{0}[position]", r"{0}[\text{{position}}]"),
    "sinusoidal": Description(
        "sines and cosines of the position",
        "sin, cos(position / 10000^(2i/dim))",
        r"\sin,\cos\left(\text{{position}}/10000^{{2i/d}}\right)",
    ),
    "same": Description("carry on", "{0}", "{0}"),
    "add": Description("add", "{0} + {1}", "{0}+{1}"),
    "linear": Description("multiply by a matrix", "{0} · {1}", r"{0}\cdot {1}"),
    "unembed": Description("multiply by the transposed embedding", "{0} · {1}ᵀ", r"{0}\cdot {1}^{{\mathsf T}}"),
    "project": Description("multiply by each head's matrix", "{0} · {1}", r"{0}\cdot {1}"),
    "merge": Description("heads side by side, multiplied by a matrix", "{0} · {1}", r"{0}\cdot {1}"),
    "scores": Description("dot products of queries and keys", "{0} · {1}ᵀ", r"{0}\cdot {1}^{{\mathsf T}}"),
    "scale": Description("scale", "{0} · {scale}", r"{0}\cdot {scale_latex}"),
    "mask": Description("hide what may not be seen", "{0}, -inf where {hidden}", r"{0},\ -\infty\text{{ where }}{hidden_latex}"),
    "shift": Description("subtract each row's largest", "{0} - max({0})", r"{0}-\max({0})"),
    "softmax": Description("softmax of each row", "softmax({0})", r"\operatorname{{softmax}}({0})"),
    "mix": Description("averages of the values, weighted", "{0} · {1}", r"{0}\cdot {1}"),
    "mean": Description("mean", "mean({0})", r"\operatorname{{mean}}({0})"),
    "center": Description("subtract the mean", "{0} - {1}", "{0}-{1}"),
    "variance": Description("variance", "mean({0}²)", r"\operatorname{{mean}}({0}^2)"),
    "deviation": Description("standard deviation", "√({0} + ε)", r"\sqrt{{{0}+\varepsilon}}"),
    "normalise": Description("divide, stretch, shift", "{2} · {0} / {1} + {3}", r"{2}\cdot\frac{{{0}}}{{{1}}}+{3}"),
    "relu": Description("ReLU", "max(0, {0})", r"\max(0,{0})"),
    "identity": Description("identity", "{0}", "{0}"),
    "gelu": Description("GELU", "{0}/2 · (1 + erf({0}/√2))", r"\tfrac12 {0}\,(1+\operatorname{{erf}}({0}/\sqrt2))"),
    "gelu_tanh": Description(
        "GELU (tanh)",
        "{0}/2 · (1 + tanh(√(2/π)·({0} + 0.044715·{0}³)))",
        r"\tfrac12 {0}\,(1+\tanh(\sqrt{{2/\pi}}\,({0}+0.044715\,{0}^3)))",
    ),
    "argmax": Description("the largest logit", "argmax({0})", r"\operatorname{{argmax}}({0})"),
}
_HIDDEN = {"causal": ("j > i", "j>i"), "strict": ("j ≥ i", r"j\ge i"), "none": ("nothing", r"\text{nothing}")}


def describe(op: str, reads: tuple[str, ...], config: Config) -> Description:
    """The title and formula of one step.

    >>> config = Config(vocabulary=("a",), dim=2, blocks=1, norm="none", mask="causal", scale="none")
    >>> describe("add", ("blocks.0.resid_pre", "blocks.0.attn.out"), config).formula
    'resid_pre + attn.out'
    """
    title, formula, latex = _OPERATIONS[op]
    factor = config.scale_factor
    known = {"scale": str(factor), "scale_latex": factor.latex, "hidden": _HIDDEN[config.mask][0]}
    known["hidden_latex"] = _HIDDEN[config.mask][1]
    names = [_short(read) for read in reads]
    biased = op in ("linear", "unembed", "project", "merge") and len(names) > 2
    if biased:
        formula, latex = formula + " + {2}", latex + "+{2}"
    return Description(title, formula.format(*names, **known), latex.format(*map(_latex_name, names), **known))


def _short(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[2:]) if parts[0] == "blocks" else name


def _latex_name(name: str) -> str:
    return rf"\mathtt{{{name}}}".replace("_", r"\_")
