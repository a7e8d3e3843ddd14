#pragma once
// One client of a server, without blocking: its request is read as far as it has come, its answer is written as far
// as the client takes it, and at a fixed time it is over in any case.
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "http/listener.hpp"

namespace sumac::http {

class Connection {
 public:
  /// `tls` is null for clear text.
  Connection(UniqueFd fd, SSL_CTX* tls, Time deadline);

  enum class State {
    reading,   ///< The request is not complete.
    complete,  ///< request() is complete, and answer() must follow.
    writing,   ///< The client has not taken the whole answer.
    over,      ///< Answered, gone, or not worth an answer.
  };
  /// Moves as many bytes as the socket takes or gives now.
  State progress();
  const std::string& request() const noexcept { return in_; }
  void answer(std::string text);
  /// Ends it at once, and frees what it holds.
  void cut();

  int fd() const noexcept { return fd_.get(); }
  short events() const noexcept { return events_; }  ///< The events for which poll() must wait.
  Time deadline() const noexcept { return deadline_; }
  bool is_writing() const noexcept { return state_ == State::writing; }
  bool is_over() const noexcept { return state_ == State::over; }

 private:
  enum class Moved { some, later, never };
  Moved read_some();
  Moved write_some();
  Moved moved(int result, int& count);

  UniqueFd fd_;
  std::unique_ptr<SSL, TlsDelete> ssl_;
  Time deadline_;
  State state_ = State::reading;
  short events_;
  std::string in_, out_;
  std::size_t written_ = 0;
};

}  // namespace sumac::http
