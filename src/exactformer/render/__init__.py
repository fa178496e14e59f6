"""Ways to look at a trace. All of them draw the one layout, or (JSON) the trace itself."""
