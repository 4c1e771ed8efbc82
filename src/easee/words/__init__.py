"""Algebra of words: presentations, completion, automata and bounded closure."""
