#pragma once
// A client of our own: its ranks are processes, their messages go over sockets, and its groups have some of them. It gives the
// library the functions that an MPI gives, and breaks as a test wishes.
#include <gtest/gtest.h>
#include <hcoll/api/hcoll_api.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <numeric>
#include <string>
#include <vector>

#include "rank/test_hosts.hpp"

namespace sumac::hcoll::test {

struct Group {
  int id = 0;
  std::vector<int> ranks;  ///< In the job.
  int rank = 0;
};

/// A nonblocking collective's object.
struct Handle {
  int completions = 0;
};

class Client {
 public:
  struct Message {
    int group;
    std::uint32_t tag;
    std::vector<char> bytes;
  };
  struct Receive {
    int from, group;
    std::uint32_t tag;
    void* buffer;
    std::size_t bytes;
    bool is_done = false;
  };

  int rank, size;
  std::vector<int> sockets;  ///< To each rank.
  Group world;
  int handles = 0, freed = 0;  ///< Made, and given back by the library.
  int sends_left = INT_MAX;    ///< Then send_fn fails.
  bool is_mute = false;        ///< send_fn sends nothing.
  int calls = 0;               ///< Counts calls of any function.

  Client(int own, int count, std::vector<int> own_sockets)
      : rank(own), size(count), sockets(std::move(own_sockets)), arrived_(static_cast<std::size_t>(count)) {
    self() = this;
    world = {1, std::vector<int>(static_cast<std::size_t>(count)), own};
    std::iota(world.ranks.begin(), world.ranks.end(), 0);
    fill(hcoll_rte_functions);
  }

  static Client*& self() {
    static Client* own = nullptr;
    return own;
  }

  static void fill(rte_comm_fns_t& table) {
    table = {};
    table.recv_fn = &receive;
    table.send_fn = &send;
    table.test_fn = &test;
    table.ec_cmp_fn = [](rte_ec_handle_t a, rte_grp_handle_t, rte_ec_handle_t b, rte_grp_handle_t) {
      return a.handle == b.handle ? 1 : 0;
    };
    table.get_ec_handles_fn = [](int count, int* ranks, rte_grp_handle_t group, rte_ec_handle_t* handles) {
      ++self()->calls;
      for (int i = 0; i < count; ++i)
        handles[i] = {ranks[i],
                      &self()->sockets[static_cast<std::size_t>(in(group).ranks[static_cast<std::size_t>(ranks[i])])]};
      return 0;
    };
    table.rte_group_size_fn = [](rte_grp_handle_t group) {
      ++self()->calls;
      return static_cast<int>(in(group).ranks.size());
    };
    table.rte_my_rank_fn = [](rte_grp_handle_t group) {
      ++self()->calls;
      return in(group).rank;
    };
    table.rte_world_group_fn = []() -> rte_grp_handle_t {
      ADD_FAILURE() << "a program of sessions has no world";
      return nullptr;
    };
    table.rte_progress_fn = [] {
      ++self()->calls;
      self()->drain();
      (void)hcoll_progress_fn();
      ::sched_yield();
    };
    table.rte_get_coll_handle_fn = []() -> void* {
      ++self()->handles;
      return new Handle;
    };
    table.rte_coll_handle_test_fn = [](void* handle) { return static_cast<Handle*>(handle)->completions; };
    table.rte_coll_handle_free_fn = [](void* handle) {
      ++self()->freed;
      delete static_cast<Handle*>(handle);
    };
    table.rte_coll_handle_complete_fn = [](void* handle) { ++static_cast<Handle*>(handle)->completions; };
    table.rte_group_id_fn = [](rte_grp_handle_t group) { return in(group).id; };
  }

  Group group_of(int id, const std::vector<int>& ranks) const {
    return {id, ranks, static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin())};
  }

 private:
  static const Group& in(rte_grp_handle_t group) { return *static_cast<Group*>(group); }
  static std::size_t bytes_of(const dte_data_representation_t& type, std::uint32_t count) {
    EXPECT_TRUE(HCOL_DTE_IS_INLINE(type));
    return std::size_t{type.rep.in_line_rep.data_handle.in_line.packed_size} * count / 8;
  }
  static int peer(rte_ec_handle_t handle) {
    EXPECT_NE(handle.handle, nullptr);
    return static_cast<int>(static_cast<int*>(handle.handle) - self()->sockets.data());
  }

  static int send(dte_data_representation_t type, std::uint32_t count, void* buffer, rte_ec_handle_t to,
                  rte_grp_handle_t group, std::uint32_t tag, rte_request_handle_t* request) {
    Client& me = *self();
    ++me.calls;
    if (me.sends_left-- <= 0) return HCOLL_ERROR;
    request->data = nullptr;
    request->status = HCOLRTE_REQUEST_DONE;
    if (me.is_mute) return HCOLL_SUCCESS;
    std::vector<char> bytes(sizeof(int) + sizeof tag + bytes_of(type, count));
    std::memcpy(bytes.data(), &in(group).id, sizeof(int));
    std::memcpy(bytes.data() + sizeof(int), &tag, sizeof tag);
    std::memcpy(bytes.data() + sizeof(int) + sizeof tag, buffer, bytes.size() - sizeof(int) - sizeof tag);
    while (::send(me.sockets[static_cast<std::size_t>(peer(to))], bytes.data(), bytes.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno != EAGAIN) break;  // The other one has ended.
      me.drain();
      ::sched_yield();
    }
    return HCOLL_SUCCESS;
  }

  static int receive(dte_data_representation_t type, std::uint32_t count, void* buffer, rte_ec_handle_t from,
                     rte_grp_handle_t group, std::uint32_t tag, rte_request_handle_t* request) {
    Client& me = *self();
    ++me.calls;
    me.receives_.push_back({peer(from), in(group).id, tag, buffer, bytes_of(type, count)});
    request->data = &me.receives_.back();
    request->status = HCOLRTE_REQUEST_ACTIVE;
    return HCOLL_SUCCESS;
  }

  static int test(rte_request_handle_t* request, int* is_done) {
    ++self()->calls;
    auto* const receive = static_cast<Receive*>(request->data);
    *is_done = request->status != HCOLRTE_REQUEST_ACTIVE || receive->is_done ? 1 : 0;
    if (*is_done != 0 && request->status == HCOLRTE_REQUEST_ACTIVE) {
      self()->receives_.remove_if([&](const Receive& one) { return &one == receive; });
      request->status = HCOLRTE_REQUEST_DONE;
    }
    return HCOLL_SUCCESS;
  }

  void drain() {
    std::vector<char> room(1 << 18);
    for (int from = 0; from < size; ++from) {
      auto& queue = arrived_[static_cast<std::size_t>(from)];
      ssize_t got = 0;
      while (from != rank &&
             (got = ::recv(sockets[static_cast<std::size_t>(from)], room.data(), room.size(), MSG_DONTWAIT)) > 0) {
        Message message{};
        std::memcpy(&message.group, room.data(), sizeof(int));
        std::memcpy(&message.tag, room.data() + sizeof(int), sizeof message.tag);
        message.bytes.assign(room.begin() + sizeof(int) + sizeof message.tag, room.begin() + got);
        queue.push_back(std::move(message));
      }
      for (Receive& one : receives_) {
        if (one.is_done || one.from != from) continue;
        const auto found = std::find_if(queue.begin(), queue.end(), [&](const Message& message) {
          return message.group == one.group && message.tag == one.tag;
        });
        if (found == queue.end()) continue;
        EXPECT_EQ(found->bytes.size(), one.bytes);
        std::memcpy(one.buffer, found->bytes.data(), std::min(found->bytes.size(), one.bytes));
        one.is_done = true;
        queue.erase(found);
      }
    }
  }

  std::vector<std::deque<Message>> arrived_;
  std::list<Receive> receives_;
};

struct Tags {
  int base = 100, max = 10000;
};
inline constexpr Tags kOpenMpi{-(INT_MAX / 2), INT_MAX}, kMpich3{31, 31 + 255}, kMpich4{32, 32 + 255};

inline void init(Tags tags = {}, bool has_threads = false) {
  hcoll_init_opts_t* opts = nullptr;
  ASSERT_EQ(hcoll_read_init_opts(&opts), HCOLL_SUCCESS);
  opts->base_tag = tags.base;
  opts->max_tag = tags.max;
  opts->enable_thread_support = has_threads ? 1 : 0;
  opts->mem_hook_needed = 7;
  EXPECT_EQ(hcoll_init_with_opts(&opts), HCOLL_SUCCESS);
  EXPECT_EQ(opts->mem_hook_needed, 0);
  hcoll_free_init_opts(opts);
}

/// Runs `body` as ranks whose hosts are letters.
/// @param ends  The exit status of each rank, where it is not 0.
inline void run_bare(const std::string& hosts, const std::function<void(Client&)>& body, std::vector<int> ends = {}) {
  const auto count = hosts.size();
  std::vector<std::vector<int>> sockets(count, std::vector<int>(count, -1));
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = a + 1; b < count; ++b) {
      int pair[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  const auto close_all_but = [&](int rank) {
    for (std::size_t other = 0; other < count; ++other)
      for (const int fd : sockets[other])
        if (static_cast<int>(other) != rank && fd >= 0) ::close(fd);
  };
  const auto started = rank::test::start_on_hosts(hosts, [&](int one) {
    close_all_but(one);
    SCOPED_TRACE(testing::Message() << "rank " << one << " of " << hosts);
    Client client(one, static_cast<int>(count), sockets[static_cast<std::size_t>(one)]);
    body(client);
  });
  close_all_but(-1);
  for (int& status : ends) status = W_EXITCODE(status, 0);
  rank::test::await_ranks(started, ends);
}

/// The same with a context of all ranks.
inline void run(const std::string& hosts, const std::function<void(Client&, void* context)>& body, Tags tags = {}) {
  run_bare(hosts, [&](Client& client) {
    init(tags);
    void* const context = hcoll_create_context(&client.world);
    ASSERT_NE(context, nullptr);
    body(client, context);
    EXPECT_EQ(hcoll_context_free(context, &client.world), HCOLL_SUCCESS);
    EXPECT_EQ(hcoll_finalize(), HCOLL_SUCCESS);
  });
}

/// Waits for a nonblocking collective, which completes once.
inline void wait(void* object) {
  auto* const handle = static_cast<Handle*>(object);
  ASSERT_NE(handle, nullptr);
  while (handle->completions == 0) hcoll_rte_functions.rte_progress_fn();
  EXPECT_EQ(handle->completions, 1);
  delete handle;
}

}  // namespace sumac::hcoll::test
