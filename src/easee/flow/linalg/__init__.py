"""The linear systems of the optimisers: graph Laplacians and dense blocks."""
