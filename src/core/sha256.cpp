#include "sparsebit/core/sha256.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

#include <openssl/evp.h>

#include <array>

namespace sparsebit {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  const bool ready =
      state_->context && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1;
  SPARSEBIT_CHECK(ready, Internal, "libcrypto has no SHA-256");
}

Sha256::~Sha256() = default;

void Sha256::add(const void* data, size_t size) {
  EVP_DigestUpdate(state_->context.get(), data, size);
}

std::string Sha256::hex() const {
  const State copy;  // finalizing ends a context; the original can still be added to
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_MD_CTX_copy_ex(copy.context.get(), state_->context.get());
  EVP_DigestFinal_ex(copy.context.get(), digest.data(), &size);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::string sha256_of(const std::string& text) {
  Sha256 sum;
  sum.add(text.data(), text.size());
  return sum.hex();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  Sha256 sum;
  sum.add(mapped.bytes().data(), mapped.bytes().size());
  return sum.hex();
}

}  // namespace sparsebit
