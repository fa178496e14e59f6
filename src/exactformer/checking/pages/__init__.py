"""Pages in which claims stand: Markdown (with Quarto's and MyST's fences), reStructuredText, notebooks."""
