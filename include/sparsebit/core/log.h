#pragma once

#include <fmt/core.h>

#include <functional>
#include <string_view>
#include <utility>

namespace sparsebit {

/// Severities in ascending order. A log level passes messages of that severity or higher; Off
/// passes none.
enum class LogLevel { Debug, Info, Warning, Error, Off };

/// Sets the level for the whole process. The default is Warning.
void set_log_level(LogLevel level);

/// The current level.
LogLevel log_level();

/// Receives each message that passes the level, without the "[warning] " in front.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Sends messages to `sink` instead of stderr; an empty function goes back to stderr. The sink may
/// be called from several threads at once.
void set_log_sink(LogSink sink);

namespace detail {
void write_log(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level < log_level()) return;  // before formatting
  write_log(level, fmt::format(format, std::forward<Args>(args)...));
}
}  // namespace detail

/// For diagnosing bugs: `log_debug("{} nodes after {}", n, pass)`.
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  detail::log<Args...>(LogLevel::Debug, format, std::forward<Args>(args)...);
}

/// Progress of the work.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  detail::log<Args...>(LogLevel::Info, format, std::forward<Args>(args)...);
}

/// Something that is probably not intended but does not stop the work.
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  detail::log<Args...>(LogLevel::Warning, format, std::forward<Args>(args)...);
}

/// A failure that cannot be thrown, for instance in a destructor. Otherwise throw Error.
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  detail::log<Args...>(LogLevel::Error, format, std::forward<Args>(args)...);
}

}  // namespace sparsebit
