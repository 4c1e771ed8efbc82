"""Helpers without any knowledge of the domain: arrays, digests, files, timing."""
