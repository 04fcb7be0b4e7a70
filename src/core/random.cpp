#include "sparsebit/core/random.h"

#include "sparsebit/core/error.h"

#include <ATen/CPUGeneratorImpl.h>

#include <bit>
#include <numeric>
#include <utility>

namespace sparsebit {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd

// The output function of splitmix64: a bijection that scatters every input bit.
uint64_t scatter(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// FNV-1a; std::hash may differ between standard libraries.
uint64_t hash(std::string_view text) {
  uint64_t h = 0xCBF29CE484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return h;
}

}  // namespace

Random::Random(uint64_t seed) : seed_(seed) {
  for (uint64_t& word : state_) word = scatter(seed += kGoldenGamma);
}

Random Random::fork(std::string_view name) const {
  return Random(scatter(scatter(seed_ + kGoldenGamma) + hash(name)));
}

uint64_t Random::next() {
  auto& [a, b, c, d] = state_;
  const uint64_t result = std::rotl(b * 5, 7) * 9;
  const uint64_t shifted = b << 17;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= shifted;
  d = std::rotl(d, 45);
  return result;
}

uint64_t Random::below(uint64_t n) {
  SPARSEBIT_CHECK(n > 0, InvalidArgument, "random: below(n) needs n > 0, got 0");
  // Reject the lowest 2^64 mod n values: the number of remaining values is a multiple of n.
  const uint64_t skipped = (0 - n) % n;
  uint64_t bits = next();
  while (bits < skipped) bits = next();
  return bits % n;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::vector<int64_t> Random::permutation(int64_t n) {
  SPARSEBIT_CHECK(n >= 0, InvalidArgument, "random: permutation(n) needs n >= 0, got ", n);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  return order;
}

at::Generator Random::generator() const { return at::make_generator<at::CPUGeneratorImpl>(seed_); }

}  // namespace sparsebit
