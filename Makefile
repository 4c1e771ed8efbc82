# One command a habit. Each sets up what it needs in .venv, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check install --constraint constraints.txt
NEEDS := pyproject.toml constraints.txt

.PHONY: demo test check bench figures results population clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2

check: $(VENV)/.test $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.run

# The pictures of the docs.
figures: $(VENV)/.test
	$(BIN)/easee draw rotation-grid --depth 3 --view pipeline -o docs/images/pipeline.svg
	$(BIN)/easee draw docs/construction.txt --depth 2 --view steps -o docs/images/construction.svg
	$(BIN)/easee draw rotation-grid --depth 3 --pruned -o docs/images/rotation-grid.svg
	$(BIN)/python docs/pictures.py
	$(BIN)/easee verify doorkey --env MiniGrid-DoorKey-8x8-v0 --rename open=toggle --pictures broken
	mv broken/relation-4-1.png docs/images/counterexample.png && rm -r broken

# The experiments that two cores can do, about an hour; what is there already is not done again.
results: $(VENV)/.test
	for figure in fig3 depth heatmap doorkey sensitivity catcher holding wrong discovery; do \
		$(BIN)/easee run $$figure || exit 1; done

# Those that need a GPU: all seeds of a figure as one program.
population: $(VENV)/.test
	for figure in catcher catcher-depth catcher-width freeway boxing carnival; do \
		$(BIN)/easee run $$figure --backend population || exit 1; done

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- setting up -------------------------------------------------------------------------------

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"

$(VENV)/.demo: $(NEEDS) | $(BIN)/python
	$(PIP) --editable ".[plot]"
	@touch $@

$(VENV)/.test: $(NEEDS) | $(BIN)/python
	$(PIP) torch  # first: the pinned build, before anything asks for another
	$(PIP) --editable ".[plot,cvxpy,ray,sb3,minigrid,atari,jax]" --group test
	@touch $@

$(VENV)/.check: $(NEEDS) | $(BIN)/python
	$(PIP) --group check
	@touch $@
