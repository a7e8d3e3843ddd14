#pragma once
// A core with its nodes and sharpds in virtual time, for tests.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "manager/test_journal.hpp"
#include "manager/test_tree.hpp"

namespace sumac::manager {

template <class T>
std::vector<T> only(const Actions& actions) {
  std::vector<T> found;
  for (const auto& action : actions)
    if (const auto* one = std::get_if<T>(&action)) found.push_back(*one);
  return found;
}

/// Returns the answers to jobs from the messages to sharpds.
inline std::vector<ToHost> answers_in(const Actions& actions) {
  auto all = only<ToHost>(actions);
  std::erase_if(all, [](const ToHost& to) { return to.message.has_registered(); });
  return all;
}

/// A core, and nodes that acknowledge a grant only when the test asks for it. Nodes have the streams 1 to 3, sharpds
/// those from 100, each with a life of the same number.
struct World {
  TestJournal journal;
  Core core;
  std::set<StreamId> hosts;
  std::map<StreamId, std::uint64_t> sent;
  Time now = at(Seconds(1));

  explicit World(Rules rules = {}) : core(test_core(rules, journal)) {}

  bool ranks_leave = true;  ///< If true, ranks leave at once when their job ends.

  Actions note(Actions actions) {
    for (const auto& to : only<ToNode>(actions)) {
      sent[to.stream] = to.message.sequence();
      if (to.message.has_revoke() && ranks_leave)
        for (auto& action : note(core.node_acks(to.stream, to.message.sequence(), now)))
          actions.push_back(std::move(action));
    }
    return actions;
  }
  Actions end(StreamId stream, const control::v1::JobBegin& request) {
    return note(core.job_ends(stream, test_end(request), now));
  }
  Actions add(StreamId stream, const std::string& name, std::uint32_t osts = 512) {
    return note(core.node_registers(stream, test_register(name, osts), now));
  }
  Actions link(StreamId stream, bool up = true) {
    control::v1::Link link;
    link.set_up(up);
    link.set_why(up ? "" : "connection refused");
    return core.node_link(stream, link, now);
  }
  void up() {
    add(1, "an-root");
    add(2, "an-leaf1");
    add(3, "an-leaf2");
    link(2);
    link(3);
  }
  Actions begin(StreamId stream, const control::v1::JobBegin& request) {
    if (hosts.insert(stream).second) core.host_registers(stream, test_host(stream), now);
    return note(core.job_begins(stream, request, now));
  }
  /// Lets virtual time pass, and calls the core as often as it asks for that.
  Actions pass(Duration time) {
    Actions all;
    for (const Time end = now + time; now < end;) {
      now = std::min(end, std::max(now + Millis(1), core.next_deadline()));
      for (auto& action : note(core.tick(now))) all.push_back(std::move(action));
    }
    return all;
  }
  Actions ack(StreamId stream) { return note(core.node_acks(stream, sent[stream], now)); }
  std::optional<control::v1::HostDown> begin_and_ack(StreamId stream, const control::v1::JobBegin& request);
};

inline std::optional<control::v1::HostDown> World::begin_and_ack(StreamId stream,
                                                                 const control::v1::JobBegin& request) {
  auto all = begin(stream, request);
  for (const StreamId node : {1u, 2u, 3u})
    for (auto& action : ack(node)) all.push_back(std::move(action));
  const auto answers = answers_in(all);
  if (answers.size() != 1) return std::nullopt;
  EXPECT_EQ(answers[0].stream, stream);
  return answers[0].message;
}

}  // namespace sumac::manager
