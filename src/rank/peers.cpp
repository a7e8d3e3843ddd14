#include "rank/peers.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include "rank/words.hpp"
#include "shm/pipes.hpp"
#include "shm/segment/liveness.hpp"

namespace sumac::rank {

std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte>)> blobs_by(Exchange& exchange) {
  return [&exchange](std::span<const std::byte> mine) -> Result<std::vector<std::vector<std::byte>>> {
    auto all = exchange.allgather(bytes_of_text({reinterpret_cast<const char*>(mine.data()), mine.size()}));
    if (!all) return tl::unexpected(all.error());
    std::vector<std::vector<std::byte>> blobs;
    for (const Bytes& one : *all) {
      const auto bytes = std::as_bytes(std::span(one));
      blobs.emplace_back(bytes.begin(), bytes.end());
    }
    return blobs;
  };
}

std::function<Result<std::vector<std::string>>(const std::string&)> texts_by(Exchange& exchange) {
  return [&exchange](const std::string& own) -> Result<std::vector<std::string>> {
    auto all = exchange.allgather(bytes_of_text(own));
    if (!all) return tl::unexpected(all.error());
    std::vector<std::string> texts;
    for (const Bytes& one : *all) texts.push_back(printable(text_of(one)));
    return texts;
  };
}

Result<std::shared_ptr<Peers>> Peers::make(Exchange& exchange, std::string_view product) {
  auto members = meet(exchange, product);
  if (!members) return tl::unexpected(exchange.give_up(members.error()));
  const std::shared_ptr<Peers> peers(new Peers(std::move(*members)), [](Peers* last) {
    last->close({Errc::interrupted, "the context was destroyed before this was done"});
    delete last;
  });
  auto made = peers->share(exchange, 0);
  if (made && peers->members_.hosts > 1) made = peers->connect(exchange);
  // The last use: whoever has failed says so here at the latest.
  if (made)
    if (auto all = exchange.allgather({}); !all) made = tl::unexpected(all.error());
  if (!made) return tl::unexpected(exchange.give_up(made.error()));
  return peers;
}

Result<> Peers::share(Exchange& exchange, std::size_t own_bytes) {
  std::vector<std::size_t> sizes = shm::Pipes::sizes(static_cast<int>(members_.here.size()));
  for (std::size_t& bytes : sizes) bytes += own_bytes;
  auto block = shm::Block::share(texts_by(exchange), members_.rank, members_.here.front(), sizes);
  if (!block) return tl::unexpected(block.error());
  block_ = std::move(*block);
  here_ = std::make_unique<p2p::MessagesHere>(block_.data() + own_bytes, block_.size() - own_bytes, members_.here,
                                              members_.index_here(), matcher_);
  if (members_.hosts > 1) between_ = std::make_unique<p2p::MessagesBetween>(members_, matcher_, *here_, numbers_);
  return {};
}

Result<> Peers::connect(Exchange& exchange) {
  // Every rank leads, so there is one group, which has all ranks.
  std::vector<int> everyone;
  for (int rank = 0; rank < members_.size(); ++rank) everyone.push_back(rank);
  auto made = p2p::TeamGroups::make({.ranks = members_,
                                     .leaders = everyone,
                                     .host_name = members_.all[static_cast<std::size_t>(members_.rank)].host,
                                     .reproducible = false,
                                     .exchange = blobs_by(exchange),
                                     .connect_within = std::chrono::ceil<Millis>(exchange.left()),
                                     .check = [&exchange] { return exchange.check(); },
                                     .messages = between_.get()});
  if (!made) return tl::unexpected(made.error());
  hosts_ = std::move(*made);
  bind(*hosts_);
  return {};
}

void Peers::close(const Error& why) {
  p2p::Matcher::Ended ended;
  matcher_.fail([](int) { return true; }, why, ended);
  matcher_.conclude(ended);
  if (here_) here_->fail(why);
  if (between_) between_->close(why);
  if (hosts_) (void)hosts_->begin_to_leave();
}

bool Peers::is_dead(int rank) {
  return members_.is_here(rank) &&
         shm::look_at(members_.all[static_cast<std::size_t>(rank)].process) == shm::Life::dead;
}

std::shared_ptr<p2p::Message> Peers::send(int to, std::uint32_t tag, const void* data, std::size_t bytes,
                                          std::function<void(const Error*)> then) {
  auto message = p2p::message_to(to, tag, data, bytes, std::move(then));
  ways().post(message);
  return message;
}

std::shared_ptr<p2p::Message> Peers::receive(int from, std::uint32_t tag, void* data, std::size_t bytes,
                                             std::function<void(const Error*)> then) {
  auto message = p2p::message_from(from, tag, data, bytes, std::move(then));
  ways().post(message);
  return message;
}

void Peers::withdraw(const std::shared_ptr<p2p::Message>& message, Error why) {
  if (here_ && ways().take_out(message)) matcher_.conclude(message, std::move(why));
}

bool Peers::progress() {
  if (!matcher_.is_busy()) return false;
  bool has_moved = here_->progress();
  if (between_) {
    has_moved |= between_->step();
    between_->conclude();
  }
  return has_moved;
}

}  // namespace sumac::rank
