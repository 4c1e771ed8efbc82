"""The algebra of bare words: presentations, completion, the automaton, bounded closure."""
