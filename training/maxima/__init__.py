"""Networks of one head that say the largest of several numbers, trained to be proved by sets of inputs (docs/theorems.md)."""
