// Makes a team, in a thread of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/thread.hpp"
#include "bindings/ucc/team.hpp"
#include "rank/create_team.hpp"
#include "rank/job.h"

using sumac::Errc;
using sumac::fail;
using sumac::Result;
using sumac::rank::Bytes;
using sumac::rank::bytes_of;
using sumac::rank::MessageExchange;

namespace {

/// Ranks that meet by the program's allgather tell each other this.
struct Introduction {
  ucc_context::Address address;
  std::uint64_t ep;
  std::uint64_t drawn;  ///< Rank 0's names the exchange.
};

struct Wish {
  std::uint64_t ep;
  std::uint32_t is_included;
  std::uint32_t name;  ///< Rank 0's names the exchange.
};

template <class Record>
Result<std::vector<Record>> told(sumac::rank::Exchange& exchange, const Record& own) {
  auto all = exchange.allgather(bytes_of(own));
  if (!all) return tl::unexpected(all.error());
  std::vector<Record> records(all->size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if ((*all)[i].size() != sizeof(Record))
      return tl::unexpected(exchange.give_up(fail(Errc::invalid, "{}", exchange.other_job()).value()));
    std::memcpy(&records[i], (*all)[i].data(), sizeof(Record));
  }
  return records;
}

std::uint32_t drawn_name() { return static_cast<std::uint32_t>(sumac_job_draw_id()) & sumac::rank::kExchangeNames; }

}  // namespace

Result<> ucc_team::start(void (ucc_team::*body)()) {
  thread_is_done = false;
  try {
    thread = sumac::start_thread([this, body] {
      try {
        (this->*body)();
      } catch (const std::bad_alloc&) {
        failure = sumac::Error{Errc::no_memory, "no memory"};
      } catch (...) {
        failure = sumac::Error{Errc::internal, "an unknown failure"};
      }
      thread_is_done.store(true, std::memory_order_release);
    });
  } catch (const std::exception&) {
    return fail(Errc::exhausted, "no thread can be started");
  }
  return {};
}

void ucc_team::make() {
  if (auto made = meet(); !made) failure = made.error();
}

void ucc_team::end() {
  sumac_team_destroy(team);
  team = nullptr;
}

/// The context's ranks are known, or get to be: then the team is made by their messages.
Result<> ucc_team::meet() {
  if (making->parent) {
    if (auto met = meet_in_parent(*making->parent); !met) return met;
    if (!making->is_included) return {};
  } else if (making->oob) {
    if (auto met = meet_by_oob(*making->oob); !met) return met;
  }
  size = static_cast<int>(ranks.size());
  if (size == 1) return {};
  members = subset(peers->members(), ranks, rank);
  MessageExchange exchange(
      peers, {.ranks = ranks,
              .rank = rank,
              .name = making->name,
              .attempt = making->attempt,
              .within = making->has_list_alone ? std::min(sumac::ucc::time_limit(), sumac::rank::kMeetWithin)
                                               : sumac::ucc::time_limit()});
  auto made = create(exchange);
  // The last use: whoever has failed says so here at the latest.
  if (made)
    if (auto all = exchange.allgather({}); !all) made = tl::unexpected(all.error());
  if (made) return made;
  if (making->has_list_alone && made.error().code == Errc::timeout)
    made = tl::unexpected(
        sumac::Error{Errc::timeout, made.error().context + "; ranks that give no team id must give the same ep_map"});
  (void)exchange.give_up(made.error());
  if (team != nullptr) end();
  return made;
}

/// Messages of the context connect its ranks; those of several contexts connect here.
Result<> ucc_team::meet_by_oob(sumac::ucc::OobExchange& oob) {
  const Introduction own{context->address, making->ep, sumac_job_draw_id()};
  auto all = told(oob, own);
  if (!all) return tl::unexpected(all.error());
  const bool is_by_context = peers != nullptr && std::all_of(all->begin(), all->end(), [&](const Introduction& one) {
                               return one.address.job == own.address.job;
                             });
  if (!is_by_context && oob.size() > 1) {
    auto own_peers = sumac::rank::Peers::make(oob, "libucc");
    if (!own_peers) return tl::unexpected(own_peers.error());
    peers = std::move(*own_peers);
  }
  ranks.assign(all->size(), -1);
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Introduction& one = (*all)[i];
    if (one.ep >= ranks.size() || ranks[one.ep] != -1)
      return fail(Errc::invalid, "the ranks' endpoints (ep) are not 0 to {}, each once", ranks.size() - 1);
    ranks[one.ep] = is_by_context ? static_cast<int>(one.address.rank) : static_cast<int>(i);
  }
  rank = static_cast<int>(making->ep);
  making->name = static_cast<std::uint32_t>(all->front().drawn) & sumac::rank::kExchangeNames;
  making->attempt = 1;
  return {};
}

Result<> ucc_team::meet_in_parent(ucc_team& parent) {
  peers = parent.peers;
  if (parent.size == 1) return {};
  MessageExchange exchange(peers, {.ranks = parent.ranks,
                                   .rank = parent.rank,
                                   .name = making->name,
                                   .attempt = making->attempt,
                                   .within = sumac::ucc::time_limit()});
  auto all = told(exchange, Wish{making->ep, making->is_included ? 1u : 0u, drawn_name()});
  if (!all) return tl::unexpected(all.error());
  std::vector<int> included;
  for (int one = 0; one < parent.size; ++one)
    if ((*all)[static_cast<std::size_t>(one)].is_included != 0) included.push_back(one);
  std::stable_sort(included.begin(), included.end(), [&](int a, int b) {
    return (*all)[static_cast<std::size_t>(a)].ep < (*all)[static_cast<std::size_t>(b)].ep;
  });
  ranks.clear();
  for (const int one : included) ranks.push_back(parent.ranks[static_cast<std::size_t>(one)]);
  rank = static_cast<int>(std::find(included.begin(), included.end(), parent.rank) - included.begin());
  making->name = all->front().name;
  making->attempt = 1;
  return {};
}

Result<> ucc_team::create(sumac::rank::Exchange& exchange) {
  auto numbers = told(exchange, context->next_number.load());
  if (!numbers) return tl::unexpected(numbers.error());
  number = *std::max_element(numbers->begin(), numbers->end());
  for (std::uint32_t next = context->next_number; next <= number;)
    if (context->next_number.compare_exchange_weak(next, number + 1)) break;

  const std::string name = fmt::format("team {}", number);
  auto made = sumac::rank::create_team(exchange, members,
                                       {.options = sumac::ucc::process()->options,
                                        .name = name.c_str(),
                                        .host_ranks = static_cast<int>(peers->members().here.size()),
                                        .threads = context->has_threads});
  if (!made) return tl::unexpected(made.error());
  team = made->team;
  return {};
}
