#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::text {

/// A regular expression with Unicode classes (\p{L}). Safe to use from several threads.
class Regex {
 public:
  /// Throws InvalidArgument when it is malformed.
  explicit Regex(const std::string& pattern);
  /// One that matches a text as it is written.
  static Regex literally(const std::string& text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// The text in pieces, each with whether it matched; empty ones are left out.
  std::vector<std::pair<std::string, bool>> pieces(const std::string& text) const;
  std::string replaced(const std::string& text, const std::string& by) const;

 private:
  struct Pattern;
  explicit Regex(std::unique_ptr<Pattern> pattern);
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace sparsebit::text
