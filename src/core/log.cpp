#include "sparsebit/core/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace sparsebit {
namespace {

struct LogState {
  LogState() : stderr_logger("sparsebit", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    stderr_logger.set_pattern("[%l] %v");
    stderr_logger.set_level(spdlog::level::trace);  // log_level() filters
  }

  std::atomic<LogLevel> level = LogLevel::Warning;
  spdlog::logger stderr_logger;
  std::mutex sink_mutex;
  std::shared_ptr<const LogSink> sink;  // null: stderr
};

// Never destroyed, so that destructors of other static objects can still log.
LogState& state() {
  static auto& instance = *new LogState;
  return instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
    case LogLevel::Off:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) { state().level = level; }

LogLevel log_level() { return state().level; }

void set_log_sink(LogSink sink) {
  auto shared = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::scoped_lock lock(state().sink_mutex);
  state().sink.swap(shared);  // the old one is destroyed after the lock is released
}

void detail::write_log(LogLevel level, std::string_view text) {
  std::shared_ptr<const LogSink> sink;
  {
    const std::scoped_lock lock(state().sink_mutex);
    sink = state().sink;
  }
  // Called without the lock: a sink may log, or set another sink.
  if (sink) {
    (*sink)(level, text);
  } else {
    state().stderr_logger.log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
  }
}

}  // namespace sparsebit
