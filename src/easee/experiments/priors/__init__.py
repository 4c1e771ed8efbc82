"""Figures about priors themselves: how often they hold, wrong ones, discovered ones."""
