"""The parts of the optimiser that `easee.solver` puts together.

symmetry         nodes that look the same become one
potentials       the visits, once it is known which edges are used
scaling          the most random flow with given visits
path_scaling     the same when only some visits are given
crossover        these three in turn, until the guess of used edges is right
interior_point   where that guess comes from
linear           factorising sparse positive definite matrices
"""
