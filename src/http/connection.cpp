#include "http/connection.hpp"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sumac::http {
namespace {

/// A request of Prometheus has about 300 bytes.
constexpr std::size_t kRequestBytesMax = 8192;

}  // namespace

Connection::Connection(UniqueFd fd, SSL_CTX* tls, Time deadline)
    : fd_(std::move(fd)), deadline_(deadline), events_(POLLIN) {
  if (tls == nullptr) return;
  ssl_.reset(SSL_new(tls));
  if (!ssl_ || SSL_set_fd(ssl_.get(), fd_.get()) != 1)
    state_ = State::over;
  else
    SSL_set_accept_state(ssl_.get());  // The first read or write does the handshake.
}

Connection::State Connection::progress() {
  while (state_ == State::reading) {
    const auto moved = read_some();
    if (moved == Moved::later) return state_;
    if (moved == Moved::never || in_.size() > kRequestBytesMax) return state_ = State::over;
    if (in_.find("\r\n\r\n") != std::string::npos) state_ = State::complete;
  }
  while (state_ == State::writing) {
    const auto moved = write_some();
    if (moved == Moved::later) return state_;
    if (moved == Moved::never) return state_ = State::over;
    if (written_ < out_.size()) continue;
    if (ssl_) SSL_shutdown(ssl_.get());  // Says that the answer is whole; the client's own word is not awaited.
    ERR_clear_error();
    ::shutdown(fd_.get(), SHUT_WR);
    state_ = State::over;
  }
  return state_;
}

void Connection::answer(std::string text) {
  out_ = std::move(text);
  state_ = out_.empty() ? State::over : State::writing;
}

void Connection::cut() {
  out_ = {};
  ssl_.reset();
  fd_ = {};
  state_ = State::over;
}

/// Judges the result of a call that returned `result`, and sets what to wait for.
Connection::Moved Connection::moved(int result, int& count) {
  if (result > 0) {
    count = result;
    return Moved::some;
  }
  if (ssl_) {
    const int error = SSL_get_error(ssl_.get(), result);
    ERR_clear_error();
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return Moved::never;
    events_ = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return Moved::later;
  }
  if (result == 0 || (errno != EAGAIN && errno != EINTR)) return Moved::never;
  events_ = state_ == State::reading ? POLLIN : POLLOUT;
  return Moved::later;
}

Connection::Moved Connection::read_some() {
  char bytes[4096];
  const int result =
      ssl_ ? SSL_read(ssl_.get(), bytes, sizeof bytes) : static_cast<int>(::recv(fd_.get(), bytes, sizeof bytes, 0));
  int count = 0;
  const auto how = moved(result, count);
  in_.append(bytes, static_cast<std::size_t>(count));
  return how;
}

Connection::Moved Connection::write_some() {
  const auto left = std::min<std::size_t>(out_.size() - written_, 1 << 20);
  const int result = ssl_ ? SSL_write(ssl_.get(), out_.data() + written_, static_cast<int>(left))
                          : static_cast<int>(::send(fd_.get(), out_.data() + written_, left, MSG_NOSIGNAL));
  int count = 0;
  const auto how = moved(result, count);
  written_ += static_cast<std::size_t>(count);
  return how;
}

}  // namespace sumac::http
