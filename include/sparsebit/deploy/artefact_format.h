#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/deploy/deploy_model.h"

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// A file that is not written yet.
struct DeployFile {
  std::string name;
  std::string content;
};

/// What a vendor's tool reads.
struct ArtefactFormat {
  std::string summary;      ///< what the files are, in one line
  std::string how_to_load;  ///< the vendor's command or call; {name} stands for the model's name
  /// Throws Unsupported, naming the tensor, when the format cannot say how it is quantized.
  std::function<std::vector<DeployFile>(const DeployModel&)> write;
};

/// All formats by name: "snpe_encodings", "openvino_fq", ... Add your own before the first use.
Registry<ArtefactFormat>& artefact_formats();

}  // namespace sparsebit::deploy
