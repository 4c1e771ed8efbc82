# Every command installs what it needs into .venv the first time.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check install --constraint constraints.txt
NEEDS := pyproject.toml constraints.txt

.PHONY: demo test test-studio test-rllib quick coverage lowest check dist soak docs bench \
	figures plots screenshots results population clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

# --- checking ---------------------------------------------------------------------------------

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2

# The tests of the studio alone. Without Chromium, those in a browser fail here; elsewhere they are
# skipped. Install it with apt-get, or with `.venv/bin/playwright install --with-deps chromium`.
test-studio: $(VENV)/.test
	STUDIO_BROWSER=required $(BIN)/python -m pytest tests/studio tests/cli/test_studio.py

# The tests without doctests and without those marked slow: under 90 seconds on two cores. The list
# of the slowest ones shows which test to mark next.
quick: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m "not slow" --durations=10 --durations-min=1.5 tests

coverage: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term-missing:skip-covered

# RLlib pins another Gymnasium than constraints.txt.
test-rllib: $(VENV)-rllib/.done
	$(VENV)-rllib/bin/python -m pytest -o addopts="--doctest-modules --strict-markers -ra" \
		tests/rllib src/easee/agents/rllib.py

check: $(VENV)/.test $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The tests that need neither PyTorch nor JAX, with the lowest versions that pyproject.toml allows.
lowest: $(VENV)-lowest/.done
	$(VENV)-lowest/bin/python -m pytest --ignore-glob='*jax*' tests/words tests/priors \
		tests/test_graph.py tests/flow tests/test_policy.py tests/explorers tests/viz tests/cli

# Attack the library for some minutes: make soak MINUTES=5. Findings are files that replay.
MINUTES ?= 20
soak: $(VENV)/.test
	$(BIN)/python -m soak.run --minutes $(MINUTES)

# The documentation site, in docs/_build/html. Warnings are errors.
docs: $(VENV)/.test $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html

# Build the sdist and the wheel, and try each in a new environment outside the repository.
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	for file in dist/*; do PYTHON=$(PYTHON) .ci/try-distribution $$file || exit 1; done

# --- results ----------------------------------------------------------------------------------

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks.run

# The images of the documentation, and the notebook's output.
figures: $(VENV)/.test
	$(BIN)/easee draw rotation-grid --depth 3 --view pipeline -o docs/images/pipeline.svg
	$(BIN)/easee draw docs/construction.txt --depth 2 --view steps -o docs/images/construction.svg
	$(BIN)/easee draw rotation-grid --depth 3 --pruned -o docs/images/rotation-grid.svg
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/animation.py
	$(BIN)/easee verify doorkey --env MiniGrid-DoorKey-8x8-v0 --rename open=toggle --pictures broken
	mv broken/relation-4-1.png docs/images/counterexample.png && rm -r broken
	PYTHONPATH=examples $(BIN)/easee tune examples/arm.txt --env arm:Arm-v0 \
		--plot docs/images/tune-arm.png
	$(BIN)/easee tune docs/room.txt --env MiniGrid-Empty-16x16-v0 --plot docs/images/tune-room.png
	$(BIN)/python docs/run_notebook.py

LOCAL := fig3 depth heatmap doorkey sensitivity holding wrong discovery usual
POPULATION := hard-search hard-search-minigrid hard hard-depth catcher catcher-depth \
	catcher-width catcher-readings freeway boxing carnival
PPO := hard-ppo-search hard-ppo-search-minigrid hard-ppo hard-ppo-sensitivity

# The pictures in results/ and the tables of the documentation, from the runs that are there.
plots: $(VENV)/.test
	for figure in $(LOCAL); do $(BIN)/easee plot $$figure || exit 1; done
	for figure in $(POPULATION) $(PPO); do test ! -e results/$$figure || \
		$(BIN)/easee plot $$figure --backend population || exit 1; done
	$(BIN)/python docs/tables.py

# The screenshots of the studio, which need Chromium.
screenshots: $(VENV)/.test
	$(BIN)/python docs/screenshots.py

# The experiments that run on two cores, in about an hour. Finished runs are skipped.
results: $(VENV)/.test
	for figure in $(LOCAL); do $(BIN)/easee run $$figure || exit 1; done

# The experiments that train populations, much faster on a GPU.
population: $(VENV)/.test
	for figure in $(POPULATION) $(PPO); do \
		$(BIN)/easee run $$figure --backend population || exit 1; done

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-rllib dist demo docs/_build soak/findings .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- setting up -------------------------------------------------------------------------------

$(BIN)/python $(VENV)-lowest/bin/python $(VENV)-rllib/bin/python:
	$(PYTHON) -m venv $(@D:/bin=)
	$(@D)/pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"

$(VENV)/.demo: $(NEEDS) | $(BIN)/python
	$(PIP) --editable ".[plot]"
	@touch $@

$(VENV)/.test: $(NEEDS) | $(BIN)/python
	$(PIP) torch  # first, so that no other package selects a different build
	$(PIP) --editable ".[plot,cvxpy,ray,sb3,sbx,torchrl,minigrid,atari,jax]" --group test
	@touch $@

$(VENV)/.check: $(NEEDS) | $(BIN)/python
	$(PIP) --group check
	@touch $@

$(VENV)/.docs: $(NEEDS) | $(BIN)/python
	$(PIP) --group docs
	@touch $@

$(VENV)/.release: $(NEEDS) | $(BIN)/python
	$(PIP) --group release
	@touch $@

$(VENV)-lowest/.done: pyproject.toml constraints-lowest.txt | $(VENV)-lowest/bin/python
	$(VENV)-lowest/bin/pip --quiet --disable-pip-version-check install \
		--constraint constraints-lowest.txt --editable ".[plot,cvxpy,minigrid,atari]" pytest hypothesis
	@touch $@

$(VENV)-rllib/.done: pyproject.toml constraints-rllib.txt | $(VENV)-rllib/bin/python
	$(VENV)-rllib/bin/pip --quiet --disable-pip-version-check install \
		--constraint constraints-rllib.txt torch  # first, as above
	$(VENV)-rllib/bin/pip --quiet --disable-pip-version-check install \
		--constraint constraints-rllib.txt --editable ".[rllib]" pytest hypothesis
	@touch $@
