# The two commands that do everything on a fresh Debian 12: `make demo` and `make test`.

BUILD := build/release
SOURCES = $(shell git ls-files '*.cpp' '*.h')

.PHONY: help bootstrap build demo test test-sweep asan tsan separate fuzz bench accuracy install format check-format tidy docs clean

help:
	@echo "make demo    build, trace a model written in C++ and print it, then quantize and certify a small network"
	@echo "make test    build everything and run all tests"
	@echo "make test-sweep  import and export all of torchvision; writes docs/torchvision-sweep.md;"
	@echo "                 an hour; RESUME=1 goes on where it was stopped, MODELS=\"NAME...\" redoes some"
	@echo "make asan    the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan    multithreaded unit tests, under ThreadSanitizer"
	@echo "make separate  compile every file alone, without precompiled headers; most of an hour"
	@echo "make fuzz    fuzz the readers of files, FUZZ_SECONDS=60 each"
	@echo "make bench   build and run the benchmarks"
	@echo "make accuracy  measure quantized models; writes docs/accuracy.md; needs SPARSEBIT_DATA"
	@echo "make build   build only; the command is $(BUILD)/bin/sparsebit"
	@echo "make install install into PREFIX (default /usr/local)"
	@echo "make format  format the code; check-format only checks; tidy runs clang-tidy"
	@echo "make docs    regenerate the pages that list operators and ONNX support"
	@echo "make clean   remove build/"

bootstrap:
	@scripts/bootstrap.sh

$(BUILD)/build.ninja: | bootstrap
	@cmake --preset release >/dev/null

build: $(BUILD)/build.ninja
	@cmake --build --preset release

demo: $(BUILD)/build.ninja
	@cmake --build --preset release --target sparsebit example_first_model
	@$(BUILD)/bin/example_first_model
	@echo
	@echo '$$ $(BUILD)/bin/sparsebit inspect zoo:resnet20 --skip "layer[23]"'
	@$(BUILD)/bin/sparsebit inspect zoo:resnet20 --skip 'layer[23]'
	@scripts/install_onnxruntime.sh $(BUILD)/onnxruntime
	@scripts/demo.sh $(BUILD)/bin/sparsebit

test: build
	@ctest --preset release

test-sweep: $(BUILD)/build.ninja
	@scripts/bootstrap.sh --sweep
	@cmake --build --preset release --target sweep
	@scripts/install_onnxruntime.sh $(BUILD)/onnxruntime
	@scripts/run_sweep.py --check $(BUILD)/bin/sweep --work build/sweep \
	  --table docs/torchvision-sweep.md $(if $(RESUME),--resume) $(MODELS)

asan: bootstrap
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@ctest --preset asan

tsan: bootstrap
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan
	@ctest --preset tsan

# Slow: headers are parsed again for every file.
separate: bootstrap
	@cmake --preset separate >/dev/null
	@cmake --build --preset separate

FUZZ_SECONDS ?= 60
fuzz: bootstrap
	@scripts/bootstrap.sh --fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@scripts/run_fuzz.sh build/fuzz $(FUZZ_SECONDS) $(TARGETS)

bench: build
	@$(BUILD)/bin/graph_bench
	@$(BUILD)/bin/import_bench
	@$(BUILD)/bin/passes_bench
	@$(BUILD)/bin/ptq_bench
	@scripts/install_onnxruntime.sh $(BUILD)/onnxruntime
	@$(BUILD)/bin/export_bench

accuracy: build
	@scripts/install_onnxruntime.sh $(BUILD)/onnxruntime
	@scripts/accuracy_table.py --sparsebit $(BUILD)/bin/sparsebit --work build/accuracy \
	  --table docs/accuracy.md

PREFIX ?= /usr/local
install: $(BUILD)/build.ninja
	@cmake --build --preset release --target sparsebit
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@clang-format -i $(SOURCES)

check-format:
	@clang-format --dry-run --Werror $(SOURCES)

# clang cannot parse ATen in C++20, so only findings in our own files count.
tidy: $(BUILD)/build.ninja
	@findings=$$(clang-tidy -p $(BUILD) --quiet $(filter src/%.cpp,$(SOURCES)) 2>/dev/null \
	  | grep -E '^[^ ]*/(src|include/sparsebit)/[^ ]*: warning:' | sort -u); \
	if [ -n "$$findings" ]; then echo "$$findings"; exit 1; fi; echo "clang-tidy: nothing found"

docs: build
	@$(BUILD)/bin/list_operators > docs/reference/operators.md
	@$(BUILD)/bin/list_onnx_support > docs/onnx-support.md

clean:
	@rm -rf build
