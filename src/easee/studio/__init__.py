"""The studio: a local page on which a prior is written, seen, raced and checked.

A browser talks to `server`, which answers through `api`. Everything that takes time is a *job*: it
runs in a worker process (`jobs`, `workers`), which calls one of the `tasks`. Texts and numbers come
in and JSON goes out; nothing that is typed on the page is evaluated.
"""
