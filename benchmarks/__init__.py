"""Benchmarks: what proof costs, and what is to be had without it.

`python -m benchmarks` runs them all and writes `benchmarks/results/`. The peers below `benchmarks/peers/` are the one place where
the forward pass is written again: a comparison is worth something only between implementations that share nothing. Everything
else runs the wiring of `exactformer.model.forward`.

A benchmark is a module with `run(progress) -> Result`, listed in `benchmarks/__main__.py`.
"""
