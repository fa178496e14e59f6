"""Certified arithmetic: arrays with a proved radius, exact products on BLAS, and the lemmas of docs/certified.md as code."""

from exactformer.certified.arithmetic import CertifiedArithmetic, LimbSchedule
from exactformer.certified.ball import Ball
from exactformer.certified.limbs import OutOfRangeError
from exactformer.certified.scheduling import Growth, Outlook
from exactformer.certified.tables import tables_digest

__all__ = ["Ball", "CertifiedArithmetic", "Growth", "LimbSchedule", "OutOfRangeError", "Outlook", "tables_digest"]
