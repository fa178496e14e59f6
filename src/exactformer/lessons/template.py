"""The lesson that `exactformer lesson new` writes: short, commented, built and checked green at once."""

from __future__ import annotations

_TEXT = """\
---
summary: One sentence for the list of lessons.
language: en
---
# {title}

<!-- An ordinary comment like this one is not shown. One that begins with "exactformer:" is a directive (docs/lessons.md). -->
<!-- exactformer: use capstone -->

Say what to look at before you show it. Attention lets a token look at the tokens before it: which cell is hidden?

<!-- Names of steps: exactformer trace capstone. A view stands on a line of its own; building writes its text below it. -->
<!-- exactformer: picture blocks.0.attn.masked -->

The one at the top right: `a` may not look at `b`, which comes later. Here are the shares of `b`:

<!-- exactformer: step blocks.0.attn.pattern at 1 -->

<!-- A number in the prose stands right behind its comment. A question mark is written by building: exactformer lesson build. -->
The share that goes to `a` is <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->?, about
<!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.27. A row of shares adds up to 1, and a claim proves that it does:

<!-- exactformer: claim sum blocks.0.attn.pattern[0, 1] = 1 -->

<!-- A table, a matrix or a code block is bound by a comment on the line before it. -->
<!-- exactformer: blocks.0.attn.pattern -->
| looks | at a | at b |
|---|---|---|
| a | ? | ? |
| b | ? | ? |

> **Your turn.** What would the first logit of the last position be?
> <!-- exactformer: exercise logits[1, 0] hint "Multiply the last vector with the row of a in W_E." -->

## What to break

Take the mask away, and look at the first row again.

<!-- exactformer: break no-mask from blocks.0.attn.masked at 0 -->
"""


def template(title: str) -> str:
    """
    >>> template("My lesson").splitlines()[4]
    '# My lesson'
    """
    return _TEXT.format(title=title)
