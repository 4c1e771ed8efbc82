"""A campaign of attacks on the library: `make soak`, or `python -m soak.run --help`."""
