"""A certificate as a page of its own, with a plot of the radius by layer. No script; every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from exactformer.certificates.audit import Audit
from exactformer.certificates.certificate import CLAIM, Certificate, Claim
from exactformer.certificates.comparison import FloatErrors
from exactformer.certificates.ends import proved_digits
from exactformer.certificates.expected import Expected
from exactformer.render.certificates import Name, audit_text, conclusions, error, expected_text, log2, margin, verdict

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 220, 60, 28
PLOT_STYLE = """
svg { max-width: 100%; height: auto; font: 11px ui-monospace, monospace }
.radius { stroke: #06708a; fill: none; stroke-width: 2 } .point { fill: #06708a }
.unit { stroke: #b36b00; fill: none; stroke-dasharray: 4 3 } .axis { stroke: #889 } svg text { fill: #667 }
"""
STYLE = (
    PLOT_STYLE
    + """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 1rem }
td, th { padding: .15rem 1.2rem .15rem 0; text-align: left; vertical-align: top }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
.wrong { color: #b3261e }
@media (prefers-color-scheme: dark) {
  body { background: #15181c; color: #e6e8ea } svg text { fill: #9aa } .radius { stroke: #5cc8e0 } .point { fill: #5cc8e0 }
  .wrong { color: #ff8a80 }
}
"""
)


def page(
    certificate: Certificate,
    title: str,
    name: Name,
    audit: Audit | None = None,
    floats: Sequence[FloatErrors] = (),
    expected: Expected | None = None,
    read: Name | None = None,
    stored: str = "",
) -> str:
    """HTML that stands alone. `name` says what outputs are called, `read` the tokens of the input: the same, as a rule.

    `stored`: see `expected_text`.
    """
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    parts = [f"<h1>{escape(title)}</h1>", claims_html(certificate, name, read)]
    if audit is not None:
        kind = "right" if audit.agrees else "wrong"
        parts.append(f'<h2>Audit</h2><p class="{kind}">{escape(audit_text(audit).strip())}</p>')
    if expected is not None:
        kind = "right" if expected.agrees else "wrong"
        parts.append(f'<h2>Expected logits</h2><p class="{kind}">{escape(expected_text(expected, name, stored))}</p>')
    parts += [_floats(errors, name) for errors in floats]
    rows = "".join(
        f"<tr><td>{escape(key)}</td><td><code>{escape(value)}</code></td></tr>" for key, value in certificate.versions.items()
    )
    parts.append(f"<h2>Made with</h2><table>{rows}<tr><td>tables</td><td><code>{certificate.tables}</code></td></tr></table>")
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'


def claims_html(certificate: Certificate, name: Name, read: Name | None = None) -> str:
    """What is claimed: of which model and input, and a section for each token."""
    given = " ".join(map(name if read is None else read, certificate.ids))
    parts = [
        f"<p>Given <code>{escape(given)}</code>. Model <code>{certificate.model}</code>.</p><p>{escape(CLAIM)}</p>",
        *(_claim(claim, n, name) for n, claim in enumerate(certificate.tokens, start=1)),
    ]
    return "\n".join(parts)


def _claim(claim: Claim, number: int, name: Name) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name(b.token))}</code></td><td><code>{escape(proved_digits(Fraction(b.low), Fraction(b.high)))}"
        f"</code></td><td><code>[{escape(b.low)}, {escape(b.high)}]</code></td></tr>"
        for b in claim.top
    )
    led = f"<p>Margin <code>{escape(margin(claim, name))}</code></p>" if claim.margin is not None else ""
    table = f"<table><tr><th>logit of</th><th>proved digits</th><th>enclosure</th></tr>{rows}</table>" if rows else ""
    wrong = ' class="wrong"' if claim.token is None else ""
    return f"<h2{wrong}>{number}. <code>{escape(verdict(claim, name))}</code></h2>{led}{table}{plot(claim)}"


def plot(claim: Claim) -> str:
    """An SVG: the radius after each layer, and beside it, dashed, the unit of the bits that were computed with."""
    radii = [log2(layer.radius) for layer in claim.layers]
    units = [-float(layer.bits) for layer in claim.layers]
    finite = [v for v in (*radii, *units) if math.isfinite(v)]
    if not finite:
        return ""
    high = max(finite)
    low = max(min(finite), high - 600)
    span, inner = max(high - low, 1.0), _HEIGHT - _BOTTOM - 12

    def y(value: float) -> float:
        return 12 + inner * (high - min(max(value, low), high)) / span

    def x(n: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - 12) * (n / max(len(radii) - 1, 1))

    def line(values: list[float], kind: str) -> str:
        points = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in enumerate(values))
        return f'<polyline class="{kind}" points="{points}"/>'

    dots = "".join(
        f'<circle class="point" cx="{x(n):.1f}" cy="{y(v):.1f}" r="3"><title>{escape(layer.name)}: radius {escape(layer.radius)}, '
        f"{layer.bits} bits</title></circle>"
        for n, (v, layer) in enumerate(zip(radii, claim.layers, strict=True))
    )
    labels = "".join(
        f'<text x="{_LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">2^{v:.0f}</text>' for v in (high, (high + low) / 2, low)
    )
    ends = (
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{escape(claim.layers[0].name)}</text>'
        f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 8}" text-anchor="end">{escape(claim.layers[-1].name)}</text>'
    )
    axis = f'<line class="axis" x1="{_LEFT}" y1="{_HEIGHT - _BOTTOM + 4}" x2="{_WIDTH - 12}" y2="{_HEIGHT - _BOTTOM + 4}"/>'
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="radii">'
        f"{axis}{labels}{ends}{line(units, 'unit')}{line(radii, 'radius')}{dots}</svg>"
        "<figcaption>The largest radius of a token after each layer; dashed, the unit of the bits there.</figcaption></figure>"
    )


def _floats(errors: FloatErrors, name: Name) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(step.name)}</code></td><td><code>{escape(error(*step.largest))}</code></td>"
        f"<td>{step.ulps:.3g}</td><td>{step.relative:.3g}</td></tr>"
        for step in errors.steps
    )
    items = "".join(f"<li>{escape(line)}</li>" for line in conclusions(errors, name))
    head = "<tr><th>step</th><th>largest error</th><th>units of the last place</th><th>of the largest entry</th></tr>"
    return f"<h2>{escape(errors.name)}</h2><ul>{items}</ul><table>{head}{rows}</table>"
