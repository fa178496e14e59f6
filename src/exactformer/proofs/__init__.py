"""Theorems about models over whole domains of inputs, case by case, each case proved."""

from exactformer.proofs.domain import From, Product, Sequences
from exactformer.proofs.report import Failure, Report
from exactformer.proofs.rules import Demand, Lookup, Sorted
from exactformer.proofs.theorem import prove

__all__ = ["Demand", "Failure", "From", "Lookup", "Product", "Report", "Sequences", "Sorted", "prove"]
