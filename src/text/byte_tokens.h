#pragma once

#include "text/subword_model.h"

#include <fmt/format.h>

namespace sparsebit::text {

/// Adds the ids of a character's byte tokens, "<0xE2>". Adds none and returns false if one is
/// missing in the vocabulary.
inline bool add_bytes(const SubwordModel& model, const std::string& character,
                      std::vector<int64_t>& ids) {
  std::vector<int64_t> bytes;
  for (const char byte : character) {
    const auto id = model.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)));
    if (!id) return false;
    bytes.push_back(*id);
  }
  ids.insert(ids.end(), bytes.begin(), bytes.end());
  return true;
}

}  // namespace sparsebit::text
