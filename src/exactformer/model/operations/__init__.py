"""The operations of a pass: one record each, with all that anyone needs to know of it."""
