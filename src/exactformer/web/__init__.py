"""The page: a whole pass in the browser, every number followed back to the weights; and the JSON API behind it."""
