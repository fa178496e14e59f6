"""A lesson in which a number is bound in every way that there is."""

from __future__ import annotations

from exactformer.lessons import read
from exactformer.lessons.examining import Entry, examined

PATTERN = "blocks.0.attn.pattern"
EVERYTHING = f"""\
---
summary: Every kind of place.
---
# Everything

<!-- exactformer: use capstone -->

Plain <!-- exactformer: {PATTERN}[0, 1, 0] -->0.27, bold <!-- exactformer: {PATTERN}[0, 1, 1] -->**0.731**, code
<!-- exactformer: {PATTERN}[0,1,0] -->`1/(1+e)`, a formula <!-- exactformer: {PATTERN}[0, 1, 1] -->$\\frac{{e}}{{1+e}}$, a row
<!-- exactformer: embed[0] -->(1, 0), a norm <!-- exactformer: blocks.0.ln1.mean[0] -->1, a weight <!-- exactformer: W_E[2, 1] -->1,
a token <!-- exactformer: token[1] -->`a`, and a masked score <!-- exactformer: blocks.0.attn.masked[0, 0, 1] -->−∞.

<!-- exactformer: {PATTERN} -->
| looks | at a | at b |
|:--|--:|--:|
| **a** | 1.00 | 0.00 |
| **b** | 0.27 | `0.73` |

<!-- exactformer: blocks.0.attn.scores[0] -->
$$
\\begin{{bmatrix}} 1 & 1 \\\\ 1 & 2 \\end{{bmatrix}}
$$

<!-- exactformer: probs -->
```
[[0.6652 0.0900 0.2447]
 [0.6652 0.0900 0.2447]]
```

<!-- exactformer: step {PATTERN} at 1 -->

> Look at it in a quotation:
> <!-- exactformer: number {PATTERN}[0, 1, 0] digits 12 -->

<!-- exactformer: claim sum {PATTERN}[0, 1] = 1 -->
<!-- exactformer: break no-mask from blocks.0.attn.masked -->

> **Your turn.** What is it?
> <!-- exactformer: exercise logits[1, 0] hint "Look it up." -->
"""


def entries(text: str) -> list[Entry]:
    return examined(read(text)).entries
