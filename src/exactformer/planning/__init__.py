"""What a proof is expected to take: bits, limbs, memory and time, from a configuration. A plan proves nothing."""

from exactformer.planning.planner import LENGTH, HalfPlan, Memory, Plan, Time, plan

__all__ = ["LENGTH", "HalfPlan", "Memory", "Plan", "Time", "plan"]
