#!/usr/bin/env bash
# Installs ONNX Runtime for Node.js, which certifies exported files, into the folder DEST. Default:
# ~/.cache/sparsebit/onnxruntime, where the command looks for it. Does nothing if it is installed. The
# npm package contains the CPU library, so no install script runs.
set -euo pipefail

version=1.30.0
dest=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/sparsebit/onnxruntime}

# Loads the library, not only the package around it.
works() {
  (cd "$1" && node -e "
    const ort = require('onnxruntime-node');
    if (ort.env.versions.node !== '$version') throw Error('found ' + ort.env.versions.node);
    ort.listSupportedBackends();")
}

if [ -d "$dest" ] && works "$dest" 2>/dev/null; then
  exit 0
fi
for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "error: $program is missing; Debian's packages are nodejs and npm" >&2
    exit 1
  fi
done

mkdir -p "$(dirname "$dest")"
partial=$(mktemp -d "$dest.XXXXXX")
trap 'rm -rf "$partial"' EXIT
npm install --prefix "$partial" --ignore-scripts --no-audit --no-fund --no-update-notifier \
  "onnxruntime-node@$version" >/dev/null
# Remove the libraries of other platforms, a quarter of a gigabyte.
libraries=$partial/node_modules/onnxruntime-node/bin
platform=$(node -p 'process.platform')
arch=$(node -p 'process.arch')
find "$libraries" -mindepth 2 -maxdepth 2 -type d ! -name "$platform" -exec rm -rf {} +
find "$libraries" -mindepth 3 -maxdepth 3 -type d ! -name "$arch" -exec rm -rf {} +
works "$partial"
rm -rf "$dest"
mv "$partial" "$dest"
trap - EXIT
echo "Installed ONNX Runtime $version in $dest."
