#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace sparsebit {

/// The SHA-256 of data added in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void add(const void* data, size_t size);
  /// The digest of the data added so far, as 64 hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_of(const std::string& text);
/// Throws Io when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace sparsebit
