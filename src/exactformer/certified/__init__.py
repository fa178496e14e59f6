"""Certified passes: arrays with a proved radius, exact products on BLAS, and the next token with a proof (docs/certified.md)."""

from exactformer.certified.arithmetic import CertifiedArithmetic, Schedule
from exactformer.certified.ball import Ball
from exactformer.certified.certifying import Certified, Entry, LayerReport, Prepared, certify, generate
from exactformer.certified.limbs import OutOfRangeError
from exactformer.certified.scheduling import Growth, Outlook
from exactformer.certified.tables import tables_digest

__all__ = [
    "Ball", "Certified", "CertifiedArithmetic", "Entry", "Growth", "LayerReport", "OutOfRangeError", "Outlook", "Prepared",
    "Schedule", "certify", "generate", "tables_digest",
]  # fmt: skip
