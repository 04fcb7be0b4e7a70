#!/usr/bin/env bash
# Fuzzes readers one after the other:  run_fuzz.sh BUILD SECONDS [TARGET...]
#
# The corpus in BUILD/corpus/TARGET starts from real files. Findings are kept in BUILD/findings; the
# script fails if there is one.
set -euo pipefail

build=${1:?usage: run_fuzz.sh BUILD SECONDS [TARGET...]}
seconds=${2:?usage: run_fuzz.sh BUILD SECONDS [TARGET...]}
shift 2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(idx image npy safetensors onnx torchscript torchscript_source
  platform qconfig dataset model_data quantized)
root=$(cd "$(dirname "$0")/.." && pwd)
onnx_data=/usr/share/libonnx-testdata/data
declare -A largest=([idx]=4096 [image]=8192 [npy]=4096 [safetensors]=4096 [onnx]=65536 [torchscript]=65536
  [torchscript_source]=512 [platform]=8192 [qconfig]=4096 [dataset]=8192 [model_data]=512 [quantized]=16384)
declare -A most_megabytes=([idx]=16 [image]=512 [npy]=16 [safetensors]=16 [onnx]=128 [torchscript]=256
  [torchscript_source]=256 [platform]=16 [qconfig]=16 [dataset]=64 [model_data]=256 [quantized]=64)

seeds_of() {  # copies real files into the corpus, named by their content
  local target=$1 corpus=$2
  local -a files=()
  case $target in
    onnx) mapfile -t files < <(find "$onnx_data" "$root/tests" "$root/fuzz/seeds/onnx" -name '*.onnx' -size -48k) ;;
    platform) mapfile -t files < <(find "$root/src/platforms" -name '*.yaml') ;;
    qconfig) mapfile -t files < <(find "$root/examples" -name '*.yaml') ;;
    torchscript) mapfile -t files < <(find "$root/tests" -name '*.pt' -size -64k) ;;
    torchscript_source | model_data) ;;  # their bytes are decisions, not files
    *) mapfile -t files < <(find "$root/fuzz/seeds/$target" -type f) ;;
  esac
  for file in "${files[@]}"; do
    cp "$file" "$corpus/$(sha1sum "$file" | cut -d' ' -f1)"
  done
}

for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  findings=$build/findings/$target
  mkdir -p "$corpus" "$findings"
  seeds_of "$target" "$corpus"
  echo "$target: $(find "$corpus" -type f | wc -l) seed files, $seconds seconds"
  # Leak detection is off, since libtorch and protobuf have global tables. The malloc limit checks
  # that memory use follows the file's size.
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=0 OMP_NUM_THREADS=1 \
    "$build/bin/${target}_fuzz" -max_total_time="$seconds" -max_len="${largest[$target]}" \
    -rss_limit_mb=4096 -malloc_limit_mb="${most_megabytes[$target]}" -timeout=20 -print_final_stats=1 \
    -artifact_prefix="$findings/" "$corpus" 2>"$build/$target.log" || {
    tail -40 "$build/$target.log" >&2
    echo "error: $target: see $build/$target.log and $findings" >&2
    exit 1
  }
  grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' "$build/$target.log" |
    sed "s/^stat::/  /"
done
