"""Helpers that are independent of the domain: arrays, checks, digests, files, memory, timing."""
