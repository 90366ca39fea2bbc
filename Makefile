VENV ?= .venv
PYTEST_WORKERS ?= 2
TEST_EXTRAS ?= test
WALKTHROUGH ?= walkthrough
WHEEL_CHECK ?= /tmp/cmlm_tf_wheel_check

python := $(VENV)/bin/python
project := setup.cfg pyproject.toml cmlm_tf/__init__.py

.PHONY: help demo tutorial test check wheel-check walkthrough clean

help:
	@echo "make demo         install the package, translate with its English-German model"
	@echo "make tutorial     install the package, train on a toy corpus, translate, score"
	@echo "make walkthrough  run all commands of docs/walkthrough.md on a toy corpus"
	@echo "make test         install the package and run its tests"
	@echo "make check        lint, formatting, import rules, types, sizes and documents"
	@echo "make wheel-check  install the wheel elsewhere and run the walkthrough there"
	@echo "make clean        remove the virtual environment"

demo: $(VENV)/.installed
	$(python) bin/demo.py --output_dir=demo

tutorial: $(VENV)/.installed
	PATH="$(abspath $(VENV))/bin:$$PATH" examples/tutorial.sh tutorial

test: $(VENV)/.installed-test
	$(python) -m pytest -n $(PYTEST_WORKERS) --dist worksteal -rs --durations=25

check: $(VENV)/.installed-test-dev
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(python) -m mypy
	$(python) .ci/sizes.py
	$(python) docs/check.py

wheel-check: $(VENV)/.installed-test-dev
	.ci/wheel_check $(python) $(WHEEL_CHECK)

walkthrough: $(VENV)/.installed
	$(python) docs/walkthrough.py --folder=$(WALKTHROUGH) --small

clean:
	rm -rf $(VENV)

$(VENV)/.made:
	bin/make_venv.sh $(VENV)
	@touch $@

# One stamp for each set of extras, and for those within it, so that a second call
# installs nothing.
$(VENV)/.installed: extras =
$(VENV)/.installed-test: extras = [$(TEST_EXTRAS)]
$(VENV)/.installed-test-dev: extras = [$(TEST_EXTRAS),dev]
$(VENV)/.installed: stamps = .installed
$(VENV)/.installed-test: stamps = .installed .installed-test
$(VENV)/.installed-test-dev: stamps = .installed .installed-test .installed-test-dev
$(VENV)/.installed $(VENV)/.installed-test $(VENV)/.installed-test-dev: $(project) | $(VENV)/.made
	@echo "Installing .$(extras) into $(VENV); the first time takes some minutes."
	@PYTHONWARNINGS=ignore $(python) -m pip install --quiet --disable-pip-version-check \
		--editable '.$(extras)'
	@touch $(addprefix $(VENV)/,$(stamps))
