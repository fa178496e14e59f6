"""Trials: files changed at random, a thousand and more of a kind, and what the program makes of them.

`make test` runs some dozens of each; `python -m benchmarks.trials journals` runs one kind whole and writes the file
benchmarks/results/trials_journals.md.
"""
