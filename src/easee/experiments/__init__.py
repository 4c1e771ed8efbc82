"""Experiments: a figure is its runs (data), its analysis and its picture.

Run them with `easee list`, `easee run FIGURE` and `easee plot FIGURE` on the command line.
"""
