"""The parts of the optimiser that `easee.solver` puts together.

symmetry         nodes that look the same become one
potentials       the visits, once it is known which edges are used
scaling          the most random flow with given visits
path_scaling     the same when only some visits are given
crossover        these three in turn, until the guess of used edges is right
interior_point   where that guess comes from
laplacian        the linear systems of all these

For the stochastic case, where the nodes of a step depend on each other through their outcomes:

steps                  the problem step by step
mixed                  candidates for the optimum, from the next two
mixed_interior_point   the optimal mixture, and which edges are used
mixed_scaling          the most random flow with that mixture
ladder                 the linear systems of both
blocks                 dense products and factors for these
"""
