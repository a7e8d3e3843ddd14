#pragma once
// A message between the lab's processes is one datagram of a SOCK_SEQPACKET unix socket, with descriptors attached. The
// sockets have no name in the file system (abstract names, or none), so the death of the lab leaves nothing behind.
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::lab {

struct Message {
  std::string text;
  std::vector<UniqueFd> fds;
  pid_t sender = 0;  ///< The pid in this process's namespace; set only on sockets that want_sender() was called for.
};

/// Sends text (at most 64 KiB) with descriptors. Waits while the socket is full.
Result<> send_message(int socket, std::string_view text, const std::vector<int>& fds = {});
/// Waits for one message. Errc::lost when the other side is gone.
Result<Message> receive_message(int socket);
Result<> want_sender(int socket);

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};
Result<Pair> make_pair();

/// Listen under, or connect to, the abstract name in the network namespace of the caller. connect: Errc::not_found when
/// no process listens; listen: Errc::exists when another one does.
Result<UniqueFd> listen_at(const std::string& name);
Result<UniqueFd> connect_to(const std::string& name);

/// A program to start, with its arguments. It travels in a memory file, since an environment may be larger than a
/// message.
struct Command {
  std::string directory;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
};
Result<UniqueFd> pack(const Command& command);
Result<Command> unpack(int fd);

}  // namespace sumac::lab
