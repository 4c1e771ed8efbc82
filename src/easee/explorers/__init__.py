"""From a policy to actions: EASEE's explorer, the baselines, and the JAX version of both."""
