"""What each operation does, in words, as text and as LaTeX; what it reads is filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from exactformer.model import Config
from exactformer.model.backward import Part


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
    "erase": Description("erase what may not be seen", "{0}, 0 where {hidden}", r"{0},\ 0\text{{ where }}{hidden_latex}"),
    "shift": Description("subtract each row's largest", "{0} - max({0})", r"{0}-\max({0})"),
    "softmax": Description("softmax of each row", "softmax({0})", r"\operatorname{{softmax}}({0})"),
    "hardmax": Description("equal weights for the largest of each row", "hardmax({0})", r"\operatorname{{hardmax}}({0})"),
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
    known = _known(op, reads, config)
    names = [_short(read) for read in reads]
    biased = op in ("linear", "unembed", "project", "merge") and len(names) > 2
    if biased:
        formula, latex = formula + " + {2}", latex + "+{2}"
    return Description(title, formula.format(*names, **known), latex.format(*map(_latex_name, names), **known))


# What a step hands back to what it reads. {0}, {1}, … stand for what is read, ∂x for the gradient of x.
_PARTS: dict[str, tuple[str, str]] = {
    "given": ("given", r"\text{{given}}"),
    "cross_entropy": ("({0} - 1 at the target) / T", r"({0}-[\text{{target}}])/T"),
    "pass": ("{0}", "{0}"),
    "lookup": ("{0}, summed over the places of each row", r"\textstyle\sum {0}"),
    "tied.x": ("{0} · {1}", r"{0}\cdot {1}"),
    "tied.W": ("{0}ᵀ · {1}", r"{0}^{{\mathsf T}}\cdot {1}"),
    "linear.x": ("{0} · {1}ᵀ", r"{0}\cdot {1}^{{\mathsf T}}"),
    "linear.W": ("{0}ᵀ · {1}", r"{0}^{{\mathsf T}}\cdot {1}"),
    "bias": ("{0}, summed over positions", r"\textstyle\sum_t {0}"),
    "scale.invariant": ("0: a LayerNorm with ε = 0 follows, which ignores the scale", r"0"),
    "shift.invariant": ("0: a softmax ignores what is added to a whole row", r"0"),
    "scores.q": ("{0} · {1}", r"{0}\cdot {1}"),
    "scores.k": ("{0}ᵀ · {1}", r"{0}^{{\mathsf T}}\cdot {1}"),
    "scale": ("{0} · {scale}", r"{0}\cdot {scale_latex}"),
    "softmax": ("(diag(a) - a aᵀ) {1}, a = {0}", r"(\operatorname{{diag}}(a)-aa^{{\mathsf T}})\,{1},\ a={0}"),
    "mix.pattern": ("{0} · {1}ᵀ", r"{0}\cdot {1}^{{\mathsf T}}"),
    "mix.v": ("{0}ᵀ · {1}", r"{0}^{{\mathsf T}}\cdot {1}"),
    "mean": ("{0} / n", "{0}/n"),
    "center.mean": ("-sum({0})", r"-\textstyle\sum {0}"),
    "variance": ("{0} · 2 {1} / n", r"{0}\cdot 2\,{1}/n"),
    "deviation": ("{0} / (2 {1})", r"{0}/(2\,{1})"),
    "normalise.x": ("{0} · {1} / {2}", r"{0}\cdot {1}/{2}"),
    "normalise.s": ("-sum({0} · {1} · {2}) / {3}²", r"-\textstyle\sum({0}\cdot {1}\cdot {2})/{3}^2"),
    "normalise.w": ("sum over positions of {0} · {1} / {2}", r"\textstyle\sum_t {0}\cdot {1}/{2}"),
    "relu.slope": ("{0} where {1} > 0, else 0", r"{0}\cdot[{1}>0]"),
    "identity.slope": ("{0}", "{0}"),
    "gelu.slope": ("{0} · GELU′({1})", r"{0}\cdot\operatorname{{GELU}}'({1})"),
    "gelu_tanh.slope": ("{0} · GELU′({1})", r"{0}\cdot\operatorname{{GELU}}'({1})"),
}


def describe_parts(parts: Sequence[Part], config: Config) -> Description:
    """The formula of a gradient: the sum of what its readers hand back."""
    texts, latexes = [], []
    for part in parts:
        known = _known(part.role, part.reads, config)
        formula, latex = _PARTS[part.role]
        texts.append(formula.format(*(_gradient_name(read, "∂", _short) for read in part.reads), **known))
        latexes.append(latex.format(*(_gradient_name(read, r"\partial ", _latex_short) for read in part.reads), **known))
    return Description("gradient", " + ".join(texts) or "0", "+".join(latexes) or "0")


def _known(op: str, reads: tuple[str, ...], config: Config) -> dict[str, str]:
    """What else stands in a formula: the mask, and the scale (put into words only where it is needed)."""
    hidden, hidden_latex = _HIDDEN[config.mask]
    known = {"hidden": hidden, "hidden_latex": hidden_latex}
    if op == "scale":
        scale = config.scale_at(reads[0].removeprefix("grad."))
        known |= {"scale": str(scale), "scale_latex": scale.latex}
    return known


def _short(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[2:]) if parts[0] == "blocks" else name


def _gradient_name(name: str, mark: str, write: Callable[[str], str]) -> str:
    return mark + write(name.removeprefix("grad.")) if name.startswith("grad.") else write(name)


def _latex_short(name: str) -> str:
    return _latex_name(_short(name))


def _latex_name(name: str) -> str:
    return rf"\mathtt{{{name}}}".replace("_", r"\_")
