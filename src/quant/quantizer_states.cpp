#include "sparsebit/quant/quantizer_states.h"

namespace sparsebit::quant {
namespace {

bool has_weights(QuantizerKind kind) { return kind != QuantizerKind::Activations; }
bool has_activations(QuantizerKind kind) { return kind != QuantizerKind::Weights; }

}  // namespace

void enable_calibration(QuantModel& model, QuantizerKind kind) {
  model.prepare_calibration({.weights = has_weights(kind), .activations = has_activations(kind)});
}

void enable_quantization(QuantModel& model, QuantizerKind kind) {
  if (model.is_calibrating()) model.calc_qparams();
  model.set_quant({.weights = has_weights(kind), .activations = has_activations(kind)});
}

void disable_all(QuantModel& model) {
  model.stop_calibration();
  model.set_quant({});
}

}  // namespace sparsebit::quant
