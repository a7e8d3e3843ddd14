#pragma once
// One page of metrics in Prometheus' text form (version 0.0.4). It is pure: the daemons put the numbers of their own
// records into it, and keep no second count for it.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/log2_histogram.hpp"

namespace sumac::metrics {

inline constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

/// The name of a label is a constant of ours; its value may come from anywhere.
using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class Page {
 public:
  /// Begins a metric; the values that follow belong to it. `help` is one sentence. A counter's name ends in _total.
  Page& counter(std::string_view name, std::string_view help) { return begin(name, help, "counter"); }
  Page& gauge(std::string_view name, std::string_view help) { return begin(name, help, "gauge"); }
  Page& histogram(std::string_view name, std::string_view help) { return begin(name, help, "histogram"); }

  Page& value(std::uint64_t number, Labels labels = {});
  Page& seconds(double number, Labels labels = {});
  /// Seconds, in buckets from about 1 us to about 9 s.
  Page& value(const Log2Histogram& times, Labels labels = {});

  const std::string& text() const noexcept { return text_; }

 private:
  Page& begin(std::string_view name, std::string_view help, std::string_view type);
  void line(std::string_view suffix, Labels labels, std::string_view bound, std::string_view number);

  std::string text_, name_;
};

/// Appends the metric that every page has.
void add_build_info(Page& page, std::string_view program, std::string_view name, std::string_view version);

}  // namespace sumac::metrics
