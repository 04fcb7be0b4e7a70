#!/usr/bin/env bash
# Quantizes the small network of examples/fashion_mnist and measures it before and after.
set -euo pipefail

sparsebit=${1:?usage: demo.sh SPARSEBIT}
example=examples/fashion_mnist
data=/usr/share/datasets/fashion-mnist
quantized=$(dirname "$sparsebit")/fashion_mnist.quantized

show() {  # leaves the last line of the output in $last
  echo
  echo "\$ sparsebit $*"
  local output
  output=$("$sparsebit" "$@")
  echo "$output"
  last=${output##*$'\n'}
}

test_data=(--data "$data/t10k-images-idx3-ubyte.gz" --preprocess "$example/preprocess.yaml")
show eval "$example/fashion_mnist.onnx" "${test_data[@]}"
before=$last
show quantize "$example/fashion_mnist.onnx" -c "$example/qconfig.yaml" \
  --data "$data/train-images-idx3-ubyte.gz" --preprocess "$example/preprocess.yaml" --samples 256 \
  -o "$quantized"
show eval "$quantized" --data "$data/t10k-images-idx3-ubyte.gz"
echo
echo "float:  $before"
echo "8 bits: $last"
echo "Next: 'sparsebit analyze --help', docs/concepts/quantization.md, docs/accuracy.md"
