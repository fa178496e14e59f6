"""Theorems about models over whole domains of inputs, case by case, each case proved."""

from exactformer.proofs.domain import Sequences
from exactformer.proofs.rules import Demand, Lookup, Sorted
from exactformer.proofs.theorem import Failure, Report, prove

__all__ = ["Demand", "Failure", "Lookup", "Report", "Sequences", "Sorted", "prove"]
