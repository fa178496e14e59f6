"""The layers of a transformer. Each file has what is its own: fields of the configuration, weights, and wiring."""
