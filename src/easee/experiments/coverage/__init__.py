"""Figures about pure exploration: the number of states that are seen."""
