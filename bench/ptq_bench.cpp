// Time of post-training quantization relative to a float pass. All results are ratios of two
// measurements of the same run.
//
//     ptq_bench [SAMPLES] [MODEL...]        default: 128 samples, resnet18 and mobilenet_v2
//     ptq_bench --memory [MODEL]            peak memory with 1024 samples / with 32, all observers
//     ptq_bench --peak MODEL OBSERVER SAMPLES   peak memory in MiB of this process, used by
//     --memory

#include "sparsebit/core/error.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/quant/quant_model.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::quant {
namespace {

constexpr int64_t kBatch = 8;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Times of quantization work and float passes, which alternate batch by batch, so that other
/// processes on the machine affect both alike.
struct Times {
  double of_work = 0, of_float_pass = 0;

  double ratio() const { return of_work / of_float_pass; }
};

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

/// Batches that share one tensor, so that memory does not grow with the number of samples.
std::vector<at::Tensor> images(int64_t samples) {
  const at::Tensor batch = at::randn({kBatch, 3, 224, 224}, at::detail::createCPUGenerator(1));
  std::vector<at::Tensor> batches;
  for (int64_t done = 0; done < samples; done += kBatch)
    batches.push_back(batch.narrow(0, 0, std::min(kBatch, samples - done)));
  return batches;
}

QConfig config_of(const std::string& observer) {
  return parse_qconfig(
      parse_yaml("SCHEDULE: {FUSE_BN: true}\n"
                 "W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}, "
                 "OBSERVER: {TYPE: " +
                     (observer == "moving_average" ? "minmax" : observer) +
                     "}}\n"
                     "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}, "
                     "OBSERVER: {TYPE: " +
                     observer + "}}\n",
                 "bench"));
}

using ForBatch = std::function<void(const at::Tensor&)>;

/// @param between  called with each batch before it is used
std::unique_ptr<QuantModel> quantize(const zoo::Example& example, const std::string& observer,
                                     const std::vector<at::Tensor>& batches,
                                     const ForBatch& between = {}) {
  auto model = std::make_unique<QuantModel>(
      *example.model, config_of(observer), std::vector<fx::Value>{batches.front().narrow(0, 0, 1)});
  model->prepare_calibration();
  for (const at::Tensor& batch : batches) {
    if (between) between(batch);
    model->forward({batch});
  }
  model->calc_qparams();
  return model;
}

class Comparison {
 public:
  Comparison(const std::string& name, int64_t samples)
      : example_(zoo::make(name)),
        batches_(images(samples)),
        graph_(fx::Tracer().trace(*example_.model)),
        plain_(*graph_, fx::RunMode::Inference) {
    graph_->eval();
    for (const at::Tensor& batch : batches_) plain_.run({batch});  // warm
  }

  double quantizing(const std::string& observer) {
    return median_of_three([&](Times& times) {
      const double both = seconds_of([&] {
        quantize(example_, observer, batches_,
                 [&](const at::Tensor& batch) { run_plain(batch, times); });
      });
      times.of_work = both - times.of_float_pass;
    });
  }

  double simulating() {
    const std::unique_ptr<QuantModel> model = quantize(example_, "minmax", batches_);
    model->set_quant({.weights = true, .activations = true});
    const at::NoGradGuard no_gradients;
    return median_of_three([&](Times& times) {
      for (const at::Tensor& batch : batches_) {
        run_plain(batch, times);
        times.of_work += seconds_of([&] { model->forward({batch}); });
      }
    });
  }

 private:
  void run_plain(const at::Tensor& batch, Times& times) {
    times.of_float_pass += seconds_of([&] { plain_.run({batch}); });
  }

  static double median_of_three(const std::function<void(Times&)>& work) {
    std::vector<double> ratios;
    for (int i = 0; i < 3; ++i) {
      Times times;
      work(times);
      ratios.push_back(times.ratio());
    }
    return median(ratios);
  }

  zoo::Example example_;
  std::vector<at::Tensor> batches_;
  std::shared_ptr<fx::GraphModule> graph_;
  fx::Interpreter plain_;
};

void compare(const std::string& name, int64_t samples) {
  Comparison comparison(name, samples);
  fmt::print("{}, {} samples\n", name, samples);
  fmt::print("  {:<14} simulated pass / float pass {:.2f}\n", "", comparison.simulating());
  for (const char* observer : {"minmax", "percentile", "mse", "aciq", "kl_histogram"}) {
    fmt::print("  {:<14} quantizing / float pass {:.2f}\n", observer,
               comparison.quantizing(observer));
    std::fflush(stdout);
  }
}

double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Measures in a separate process, since the peak of a process never decreases.
double peak_of_process(const std::string& model, const std::string& observer, int samples) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format("'{}' --peak {} {} {}", self, model, observer, samples);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  double peak = 0;
  SPARSEBIT_CHECK(pipe && std::fscanf(pipe.get(), "%lf", &peak) == 1, Io, "cannot run ", command);
  return peak;
}

void compare_memory(const std::string& model) {
  for (const std::string& observer : observers().names()) {
    const double few = peak_of_process(model, observer, 32);
    const double many = peak_of_process(model, observer, 1024);
    fmt::print("{} {:<14} peak with 1024 samples / with 32: {:.3f}  ({:.0f} MiB)\n", model,
               observer, many / few, many);
    std::fflush(stdout);
  }
}

int run(const std::vector<std::string>& args) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // as the command does, to avoid the cost of new pages
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  at::set_num_threads(1);
  if (args.size() == 4 && args[0] == "--peak") {
    quantize(zoo::make(args[1]), args[2], images(std::stoll(args[3])));
    fmt::print("{:.0f}\n", peak_memory());
    return 0;
  }
  if (!args.empty() && args[0] == "--memory") {
    compare_memory(args.size() > 1 ? args[1] : "mobilenet_v2");
    return 0;
  }
  const int64_t samples = args.empty() ? 128 : std::stoll(args[0]);
  std::vector<std::string> names(args.begin() + (args.empty() ? 0 : 1), args.end());
  if (names.empty()) names = {"resnet18", "mobilenet_v2"};
  for (const std::string& name : names) compare(name, samples);
  return 0;
}

}  // namespace
}  // namespace sparsebit::quant

int main(int argc, char** argv) {
  try {
    return sparsebit::quant::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
