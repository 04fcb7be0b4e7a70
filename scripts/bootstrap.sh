#!/usr/bin/env bash
# Installs the Debian packages that the build and the tests need. Does nothing if all of them are
# installed; otherwise needs root or sudo. `make format` and `make tidy` also need clang-format and
# clang-tidy.
#
# --sweep adds what `make test-sweep` needs: torch and torchvision for Python. --fuzz adds what
# `make fuzz` needs: libFuzzer.
set -euo pipefail

packages=(
  # toolchain
  g++ cmake ninja-build ccache lld python3
  # libraries
  libtorch-dev libonnx-dev libprotobuf-dev zlib1g-dev libssl-dev libicu-dev
  libopencv-imgcodecs-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev
  # Debian's libtorch uses the installed BLAS; the reference BLAS is ten times slower. The OpenMP
  # variant shares libtorch's threads.
  libopenblas0-openmp
  # tests and benchmarks
  pkgconf libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata
  # images for the demo, an example and tests
  dataset-fashion-mnist
)
if [ "${1:-}" = --sweep ]; then
  packages+=(python3-torch python3-torchvision python3-numpy)
elif [ "${1:-}" = --fuzz ]; then
  packages+=(libclang-rt-19-dev)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
# ONNX Runtime runs in Node.js. A node that is not Debian's works as well, but may conflict with
# Debian's npm, so only missing programs are installed.
for program in node npm; do
  command -v "$program" >/dev/null && continue
  [ "$program" = node ] && missing+=(nodejs) || missing+=(npm)
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "error: these packages are missing and there is no apt-get to install them: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: these packages are missing; install them as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "Installed."
