"""Looking into an environment: putting it back, comparing what comes out, choosing states."""
