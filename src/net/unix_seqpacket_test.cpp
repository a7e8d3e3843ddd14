#include "net/unix_seqpacket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/test_folder.hpp"
#include "net/unix_path.hpp"
#include "wire/host_codec.hpp"

namespace sumac::net {
namespace {

class Notes : public HostServerEvents {
 public:
  void on_client(HostClientId client, const PeerIdentity& who) override {
    clients.push_back(client);
    identities.push_back(who);
  }
  void on_message(HostClientId, const wire::HostMessage& message) override { messages.push_back(message); }
  void on_descriptor(HostClientId, UniqueFd fd) override { handed.push_back(std::move(fd)); }
  void on_closed(HostClientId, const Error& why) override { closed.push_back(why); }
  std::vector<HostClientId> clients;
  std::vector<PeerIdentity> identities;
  std::vector<wire::HostMessage> messages;
  std::vector<UniqueFd> handed;
  std::vector<Error> closed;
};

class Seqpacket : public testing::Test {
 protected:
  HostServer listen() {
    auto server = HostServer::listen(path);
    if (!server) throw std::runtime_error(server.error().context);
    return std::move(*server);
  }
  bool drive(HostServer& server, const std::function<bool()>& done) {
    const Time deadline = monotonic_now() + Seconds{20};
    while (!done()) {
      if (monotonic_now() > deadline) return false;
      if (server.progress(notes) > 0) continue;
      pollfd wait{server.wake_fd(), POLLIN, 0};
      poll(&wait, 1, 100);
    }
    return true;
  }
  static wire::HostMessage attach(std::uint32_t rank) {
    return wire::host_message(wire::HostKind::attach, wire::AttachBody{WorldRank{rank}, rank + 1, 0, 0});
  }
  const TestFolder folder{"seqpacket"};
  const std::string directory = folder.path, path = directory + "/sub/sharpd.sock";
  Notes notes;
};

TEST_F(Seqpacket, AConversation) {
  auto server = listen();
  struct stat made {};
  ASSERT_EQ(stat(path.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0666u);
  auto client = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(client) << client.error().context;
  ASSERT_TRUE(client->send(attach(7), Seconds{5}));
  ASSERT_TRUE(drive(server, [&] { return notes.messages.size() == 1; }));
  EXPECT_EQ(wire::host_entry<wire::AttachBody>(notes.messages[0]).world_rank, WorldRank{7});
  EXPECT_EQ(notes.identities.at(0).pid, getpid());
  EXPECT_EQ(notes.identities.at(0).uid, getuid());
  wire::AttachedBody name;
  ASSERT_TRUE(wire::put_text(name.host, "node-1"));
  EXPECT_EQ(server.send(notes.clients[0], wire::host_message(wire::HostKind::attached, name)), Errc::ok);
  auto answer = client->receive(Seconds{5});
  ASSERT_TRUE(answer) << answer.error().context;
  EXPECT_EQ(wire::get_text(wire::host_entry<wire::AttachedBody>(*answer).host), "node-1");
}

TEST_F(Seqpacket, NobodyThereSaysWhatToDo) {
  auto client = HostClient::connect(path, Seconds{1});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Errc::not_found);
  EXPECT_NE(client.error().context.find("sharpd"), std::string::npos);
  auto server = listen();
  auto late = HostClient::connect(path, Seconds{1});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->receive(Millis{20}).error().code, Errc::timeout);
}

TEST_F(Seqpacket, MalformedMessagesEndTheirClientOnly) {
  auto server = listen();
  auto good = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(good);
  std::array<std::byte, 2000> junk{};
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1023}, std::size_t{1024}, std::size_t{1025}, junk.size()}) {
    SCOPED_TRACE(size);
    auto bad = HostClient::connect(path, Seconds{5});
    ASSERT_TRUE(bad);
    const auto before = notes.closed.size();
    ASSERT_EQ(::send(bad->fd(), junk.data(), size, 0), static_cast<ssize_t>(size));
    ASSERT_TRUE(drive(server, [&] { return notes.closed.size() == before + 1; }));
    EXPECT_EQ(notes.closed.back().code, Errc::invalid);
    EXPECT_EQ(bad->receive(Seconds{5}).error().code, Errc::lost);
  }
  ASSERT_TRUE(good->send(attach(1), Seconds{5}));
  ASSERT_TRUE(drive(server, [&] { return notes.messages.size() == 1; }));
}

TEST_F(Seqpacket, AClientOfAnotherVersionIsToldOursBeforeItsEnd) {
  auto server = listen();
  auto client = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(client) << client.error().context;
  auto message = attach(1);
  message.header.version = wire::kHostVersion + 1;
  ASSERT_TRUE(client->send(message, Seconds{5}));
  ASSERT_TRUE(drive(server, [&] { return notes.closed.size() == 1; }));
  EXPECT_EQ(
      notes.closed[0].context,
      fmt::format("the other side speaks version {} of the messages between sharpd and library, this one {}: install "
                  "the same version of both",
                  wire::kHostVersion + 1, wire::kHostVersion));
  // This test has our version, so it can read our answer; a client of another version would report the mismatch itself.
  std::array<std::byte, wire::kHostMessageBytes> heard;
  ASSERT_EQ(recv(client->fd(), heard.data(), heard.size(), 0), static_cast<ssize_t>(heard.size()));
  EXPECT_EQ(std::to_integer<int>(heard[2]), wire::kHostVersion);
}

TEST_F(Seqpacket, ADeadServersFileIsReplacedALivingOnesIsNot) {
  {
    // A server that was killed leaves its file behind; here a socket is bound and never unlinked.
    auto fd = listen_at(path);
    ASSERT_TRUE(fd) << fd.error().context;
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  {
    auto server = listen();
    auto second = HostServer::listen(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::exists);
    EXPECT_TRUE(HostClient::connect(path, Seconds{1}));
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "a server that ends takes its file along";
}

TEST_F(Seqpacket, AFileThatIsNoSocketIsLeftAlone) {
  ASSERT_TRUE(std::filesystem::create_directories(directory + "/sub/sharpd.sock"));
  auto server = HostServer::listen(path);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Errc::exists);
  EXPECT_EQ(HostServer::listen(directory + "/" + std::string(120, 'x')).error().code, Errc::invalid);
}

TEST_F(Seqpacket, ADirectoryWhereOthersCouldReplaceItIsRefused) {
  ASSERT_TRUE(std::filesystem::create_directories(directory + "/sub"));
  const auto refused = [&](const std::string& words) {
    auto server = HostServer::listen(path);
    ASSERT_FALSE(server) << words;
    EXPECT_NE(server.error().context.find(words), std::string::npos) << server.error().context;
    EXPECT_TRUE(std::filesystem::is_empty(directory + "/sub")) << "nothing is left in it";
  };
  ASSERT_EQ(chmod((directory + "/sub").c_str(), 0777), 0);
  refused("others may write directory " + directory + "/sub (mode 0777)");
  if (geteuid() == 0) {
    ASSERT_EQ(chmod((directory + "/sub").c_str(), 0755), 0);
    ASSERT_EQ(chown((directory + "/sub").c_str(), 65534, 65534), 0);
    refused("belongs to user 65534");
    ASSERT_EQ(chown((directory + "/sub").c_str(), 0, 0), 0);
  }
  ASSERT_EQ(chmod((directory + "/sub").c_str(), 0755), 0);
  auto server = listen();
}

TEST_F(Seqpacket, ALockFileThatOthersMayOpenOrThatIsNoFileIsRefusedInWords) {
  ASSERT_TRUE(std::filesystem::create_directories(directory + "/sub"));
  const auto lock = path + ".lock";
  const auto refused = [&](const char* words) {
    auto server = HostServer::listen(path);
    ASSERT_FALSE(server) << words;
    EXPECT_NE(server.error().context.find(lock), std::string::npos) << server.error().context;
    EXPECT_NE(server.error().context.find(words), std::string::npos) << server.error().context;
  };
  ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0);
  refused("a plain file of ours that nobody else may open");
  ASSERT_EQ(unlink(lock.c_str()), 0);
  ASSERT_EQ(symlink((directory + "/elsewhere").c_str(), lock.c_str()), 0);
  refused("remove it if it is not ours");
  EXPECT_FALSE(std::filesystem::exists(directory + "/elsewhere"));
  ASSERT_EQ(unlink(lock.c_str()), 0);
  const UniqueFd open_to_all{open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  ASSERT_EQ(fchmod(open_to_all.get(), 0644), 0);
  refused("with mode 644");
  ASSERT_EQ(fchmod(open_to_all.get(), 0600), 0);
  auto server = listen();
  EXPECT_FALSE(std::filesystem::exists(lock)) << "nothing stays behind";
}

TEST_F(Seqpacket, TheDirectorysOwnLockIsNobodysConcern) {
  ASSERT_TRUE(std::filesystem::create_directories(directory + "/sub"));
  const UniqueFd held{open((directory + "/sub").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  auto server = listen();
}

TEST_F(Seqpacket, OneUserHasNoMoreThanAUsersShare) {
  auto server = listen();
  server.set_clients_max(4096, 2);
  auto one = HostClient::connect(path, Seconds{5}), two = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(drive(server, [&] { return notes.clients.size() == 2; }));
  auto three = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(drive(server, [&] { return server.crowd().turned_away == 1; }));
  EXPECT_EQ(server.crowd().uid, geteuid());
  EXPECT_EQ(server.turned_away(), 0U) << "there is room for other users";
  EXPECT_FALSE(three->receive(Seconds{5})) << "hung up on";
  server.close(notes.clients[0]);
  auto four = HostClient::connect(path, Seconds{5});
  EXPECT_TRUE(drive(server, [&] { return notes.clients.size() == 3; })) << "one has gone, one may come";
}

TEST_F(Seqpacket, AnEndedProcessIsSeenByItsPidfd) {
  auto server = listen();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    auto client = HostClient::connect(path, Seconds{5});
    if (!client || !client->send(attach(0), Seconds{5})) _exit(1);
    for (;;) pause();
  }
  ASSERT_TRUE(drive(server, [&] { return notes.messages.size() == 1; }));
  EXPECT_EQ(notes.identities.at(0).pid, child);
  auto pidfd = peer_pidfd(server.socket_of(notes.clients[0]));
  ASSERT_TRUE(pidfd) << pidfd.error().context;
  pollfd wait{pidfd->get(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0) << "alive";
  ASSERT_EQ(kill(child, SIGKILL), 0);
  EXPECT_EQ(poll(&wait, 1, 20000), 1) << "dead";
  EXPECT_TRUE(drive(server, [&] { return notes.closed.size() == 1; }));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(Seqpacket, AClientThatDoesNotReadIsGivenUp) {
  auto server = listen();
  auto client = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(client);
  ASSERT_TRUE(drive(server, [&] { return notes.clients.size() == 1; }));
  wire::AttachedBody name;
  ASSERT_TRUE(wire::put_text(name.host, "n"));
  const auto message = wire::host_message(wire::HostKind::attached, name);
  int sent = 0;
  while (sent < 100000 && server.send(notes.clients[0], message) == Errc::ok) ++sent;
  EXPECT_LT(sent, 100000);
  EXPECT_GE(sent, 256);
  ASSERT_TRUE(drive(server, [&] { return notes.closed.size() == 1; }));
  EXPECT_NE(notes.closed[0].context.find("does not read"), std::string::npos);
}

TEST_F(Seqpacket, ADescriptorComesWithItsMessageAndASecondOneIsClosed) {
  auto server = listen();
  auto client = HostClient::connect(path, Seconds{5});
  ASSERT_TRUE(client) << client.error().context;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(client->send(attach(7), Seconds{5}, ends[1]));
  ASSERT_TRUE(drive(server, [&] { return notes.messages.size() == 1; }));
  ASSERT_EQ(notes.handed.size(), 1u);
  EXPECT_EQ(write(notes.handed[0].get(), "x", 1), 1) << "it is the end of the pipe";
  ASSERT_TRUE(client->send(attach(8), Seconds{5}));
  ASSERT_TRUE(drive(server, [&] { return notes.messages.size() == 2; }));
  EXPECT_EQ(notes.handed.size(), 1u);

  // A program may hand over as many as it likes.
  auto bytes = wire::encoded(attach(9));
  iovec part{bytes.data(), bytes.size()};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))]{};
  whole.msg_control = control;
  whole.msg_controllen = sizeof control;
  cmsghdr* const head = CMSG_FIRSTHDR(&whole);
  *head = {.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  const int two[] = {ends[1], ends[1]};
  std::copy_n(reinterpret_cast<const unsigned char*>(two), sizeof two, CMSG_DATA(head));
  ASSERT_GT(sendmsg(client->fd(), &whole, 0), 0);
  ASSERT_TRUE(drive(server, [&] { return notes.messages.size() == 3; }));
  EXPECT_EQ(notes.handed.size(), 2u);
  notes.handed.clear();
  close(ends[1]);
  char read_bytes[8];
  EXPECT_EQ(read(ends[0], read_bytes, sizeof read_bytes), 1);
  EXPECT_EQ(read(ends[0], read_bytes, sizeof read_bytes), 0) << "nobody holds the other end any more";
  close(ends[0]);
}

}  // namespace
}  // namespace sumac::net
