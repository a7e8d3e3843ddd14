#pragma once
// sharpd's calls of the manager. Nothing here blocks: gRPC's threads put what came into a queue and set an event, the main loop
// takes it. A job is one stream on a connection of its own, so that a begin meets the network as it is now and not a connection's
// waiting time after an earlier failure; cancelling the stream releases the job.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "control/signals.hpp"

namespace sumac::hostd {

struct ManagerAnswer {
  std::uint64_t ticket = 0;
  bool over = false;           ///< The stream has ended: `why` (Errc::ok: in order). Otherwise `down` came.
  control::v1::JobDown down;
  Error why;
};

class ManagerLink {
 public:
  ManagerLink(std::string endpoint, control::WakeEvent& wake);
  ~ManagerLink();  ///< Cancels every stream and waits for gRPC to let go of them.
  ManagerLink(const ManagerLink&) = delete;
  ManagerLink& operator=(const ManagerLink&) = delete;

  void begin(std::uint64_t ticket, const control::v1::JobBegin& begin);
  void end(std::uint64_t ticket);
  /// Releases the job, whatever state it is in; an answer may still come and is nobody's.
  void cancel(std::uint64_t ticket);

  std::vector<ManagerAnswer> take();
  std::size_t open() const;

 private:
  class Stream;
  struct Shared;
  std::string endpoint_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace sumac::hostd
