#pragma once
// For tests of the manager and of its clients: a manager in the test's process, and the control-plane half of nodes,
// which acknowledge every message. Tests of the data path use real nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "control/test_server.hpp"
#include "manager/service.hpp"
#include "manager/test_tree.hpp"

namespace sumac::manager {

struct TestManager {
  explicit TestManager(Rules rules = {})
      : log(Logger::Form::daemon, LogLevel::info,
            [this](std::string_view line) {
              const std::lock_guard lock(mutex);
              lines.emplace_back(line);
              said.notify_all();
            }),
        service(std::make_unique<Manager>(test_fabric(), rules, journal), log,
                [this] {
                  const std::lock_guard lock(clock_mutex);
                  moved = true;
                  clock_moved.notify_all();
                }),
        server(control::Server::start(
                   "unix:" + directory.path + "/am.sock",
                   [this](control::CallerOf caller_of) { return service.door(std::move(caller_of)); }, {})
                   .value()),
        stub(control::v1::Manager::NewStub(control::make_channel(server.endpoint()).value())),
        clock([this] { run_clock(); }) {}
  ~TestManager() {
    {
      const std::lock_guard lock(clock_mutex);
      stopping = true;
      clock_moved.notify_all();
    }
    clock.join();
  }

  /// Waits until the manager logs `words`; only the test's own time limit ends it.
  void wait_for(const std::string& words) {
    std::unique_lock lock(mutex);
    said.wait(lock, [&] {
      return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.find(words) != line.npos; });
    });
  }

  /// Does the same as main's loop: calls the core whenever its deadline is reached.
  void run_clock() {
    std::unique_lock lock(clock_mutex);
    while (!stopping) {
      moved = false;
      lock.unlock();
      const Time next = service.next_deadline();
      if (next <= monotonic_now()) service.tick(monotonic_now());
      lock.lock();
      const auto wake = [&] { return moved || stopping; };
      if (next == kNever)
        clock_moved.wait(lock, wake);
      else if (next > monotonic_now())
        clock_moved.wait_for(lock, next - monotonic_now(), wake);
    }
  }

  std::mutex clock_mutex;
  std::condition_variable clock_moved;
  bool moved = false, stopping = false;
  std::mutex mutex;
  std::condition_variable said;
  std::vector<std::string> lines;
  Logger log;
  NoJournal journal;
  control::TestDirectory directory;
  Service service;
  control::Server server;
  std::unique_ptr<control::v1::Manager::Stub> stub;
  std::thread clock;
};

struct ControlNode {
  ControlNode(control::v1::Manager::Stub& stub, const std::string& name) : stream(stub.Node(&context)) {
    control::v1::NodeUp up;
    *up.mutable_register_() = test_register(name);
    stream->Write(up);
    control::v1::NodeDown first;
    EXPECT_TRUE(stream->Read(&first)) << name;
    registered = first.registered();
    up.mutable_link()->set_up(true);
    stream->Write(up);
    reader = std::thread([this] {
      control::v1::NodeDown down;
      while (stream->Read(&down)) {
        control::v1::NodeUp ack;
        ack.mutable_ack()->set_sequence(down.sequence());
        stream->Write(ack);
      }
    });
  }
  ~ControlNode() {
    context.TryCancel();
    reader.join();
    stream->Finish();
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<control::v1::NodeUp, control::v1::NodeDown>> stream;
  control::v1::Registered registered;
  std::thread reader;
};

}  // namespace sumac::manager
