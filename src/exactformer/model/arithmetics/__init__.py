"""The arithmetics that a pass runs on, apart from `certified`, which has a package of its own."""
