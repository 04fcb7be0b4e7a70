// Quantizes a model file in one call, as `sparsebit quantize` does. It includes nothing of libtorch
// or ONNX, and compiles in a second. step_by_step.cpp does the same with the whole library.
//
//     example_quantize_onnx MODEL DATA OUT.onnx [PREPROCESS]

#include <sparsebit/easy/easy.h>

#include <exception>
#include <iostream>

namespace {

void print(const sparsebit::easy::QuantizedFile& made) {
  std::cout << "wrote " << made.file << " for " << made.platform << ": " << made.bytes_before
            << " -> " << made.bytes << " bytes\n"
            << "calibrated with " << made.samples << " samples, preprocessing: " << made.preprocess
            << "\nint8 coverage: " << 100 * made.int8_macs << " % of MACs, "
            << 100 * made.int8_nodes << " % of nodes\n";
  for (const auto& node : made.float_nodes)
    std::cout << "  float: " << node.name << " (" << node.op << "): " << node.reason << "\n";
  if (!made.certificate) return;
  std::cout << "certificate: " << made.certificate->verdict << ", quality "
            << made.certificate->quality << " (" << made.certificate->snr << " dB)\n"
            << made.certificate->problem << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: " << argv[0] << " MODEL DATA OUT.onnx [PREPROCESS]\n";
    return 2;
  }
  try {
    sparsebit::easy::QuantizeFileOptions options;
    options.platform = "onnxruntime";
    options.samples = 64;
    options.certify = true;
    if (argc > 4) options.preprocess = argv[4];  // guessed otherwise
    options.on_progress = [](const std::string& step, std::int64_t done, std::int64_t total) {
      if (done == total) std::cout << step << ": done, " << total << "\n";
    };
    const auto made = sparsebit::easy::quantize_file(argv[1], argv[2], argv[3], options);
    print(made);
    return made.certificate->passed() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
