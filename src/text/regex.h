#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::text {

/// A regular expression with Unicode classes (\p{L}). Thread-safe.
class Regex {
 public:
  /// Throws InvalidArgument when the pattern is malformed.
  explicit Regex(const std::string& pattern);
  /// A pattern that matches `text` literally.
  static Regex literally(const std::string& text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Splits a text into matches (true) and the parts between them (false), omitting empty parts.
  std::vector<std::pair<std::string, bool>> pieces(const std::string& text) const;
  std::string replaced(const std::string& text, const std::string& by) const;

 private:
  struct Pattern;
  explicit Regex(std::unique_ptr<Pattern> pattern);
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace sparsebit::text
