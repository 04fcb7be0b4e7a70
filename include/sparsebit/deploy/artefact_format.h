#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/deploy/deploy_model.h"

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// Name and content of a file to write.
struct DeployFile {
  std::string name;
  std::string content;
};

/// A file format that a vendor's tool reads.
struct ArtefactFormat {
  std::string summary;      ///< one line about the files' content
  std::string how_to_load;  ///< the vendor's command or call; {name} stands for the model's name
  /// Throws Unsupported, naming the tensor, when the format cannot represent its quantization.
  std::function<std::vector<DeployFile>(const DeployModel&)> write;
};

/// All formats by name: "snpe_encodings", "openvino_fq", ... Add your own before the first use.
Registry<ArtefactFormat>& artefact_formats();

}  // namespace sparsebit::deploy
