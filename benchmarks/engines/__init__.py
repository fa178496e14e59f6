"""Engines that people run, before the referee: the same texts through each, and every logit held against the true value."""
