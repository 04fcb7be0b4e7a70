#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace sparsebit {

/// The SHA-256 of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void add(const void* data, size_t size);
  /// Of everything added, as 64 hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_of(const std::string& text);
/// Throws Io when it cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace sparsebit
