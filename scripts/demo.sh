#!/usr/bin/env bash
# Quantizes the small network of examples/fashion_mnist, certifies the file, and measures the accuracy
# before and after. ONNX Runtime must be in the folder `onnxruntime` next to the program's folder.
set -euo pipefail

sparsebit=${1:?usage: demo.sh SPARSEBIT}
example=examples/fashion_mnist
data=/usr/share/datasets/fashion-mnist
quantized=$(dirname "$sparsebit")/fashion_mnist.int8.onnx

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
show quantize "$example/fashion_mnist.onnx" --data "$data/train-images-idx3-ubyte.gz" \
  --preprocess "$example/preprocess.yaml" --samples 256 -o "$quantized" --certify
show eval "$quantized" --data "$data/t10k-images-idx3-ubyte.gz" --runtime onnxruntime
echo
echo "float:  $before"
echo "8 bits: $last, in ONNX Runtime"
echo "Next: 'sparsebit analyze --help', docs/concepts/quantization.md, docs/accuracy.md"
