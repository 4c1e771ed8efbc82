"""Figures about priors: their accuracy, wrong priors, and discovered priors."""
