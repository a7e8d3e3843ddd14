#pragma once
// One event at the manager: its time, and the actions that follow from it, in their order. The machines add theirs.
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "manager/records.hpp"

namespace sumac::manager {

struct Step {
  Time now{};
  std::vector<Action> actions{};

  void say(LogLevel level, const char* category, std::string text, std::string kind = {}) {
    actions.push_back(Say{level, category, std::move(text), std::move(kind)});
  }
  void happened(Happened::Kind kind, std::string subject, std::string text) {
    actions.push_back(Happened{.kind = kind, .subject = std::move(subject), .text = std::move(text)});
  }
  void happened(Happened::Kind kind, JobId job, std::uint32_t uid, std::string text) {
    actions.push_back(Happened{
        .kind = kind, .subject = fmt::format("job {}", job), .text = std::move(text), .owner = uid, .job = job});
  }
  void refuse(StreamId stream, Errc code, std::string why) {
    actions.push_back(Refuse{stream, Error{code, std::move(why)}});
  }
  void send(StreamId sharpd, ForHost message) { actions.push_back(SendToHost{sharpd, std::move(message)}); }
};

}  // namespace sumac::manager
