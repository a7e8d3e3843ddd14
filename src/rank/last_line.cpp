#include "rank/last_line.hpp"

#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "rank/message_exchange.hpp"

namespace sumac::rank {

void say_last_line(const std::shared_ptr<Peers>& peers, const sumac_tally& own, std::uint64_t job_id,
                   const hcoll_settings& settings) {
  if (!(settings.last_line < 0 ? hcoll_is_asked_for() != 0 : settings.last_line != 0)) return;
  constexpr Duration kAtMost = Seconds{1};
  constexpr std::uint32_t kName = kExchangeNames - 1;
  const Members& members = peers->members();
  std::vector<int> everyone;
  for (int rank = 0; rank < members.size(); ++rank) everyone.push_back(rank);
  MessageExchange exchange(peers,
                           {.ranks = everyone, .rank = members.rank, .name = kName, .attempt = 1, .within = kAtMost});
  const auto all = exchange.gather(0, bytes_of(own));
  // The others stay until rank 0 has read them: what a rank has sent is lost with it.
  (void)exchange.bcast(0, {});
  while (peers->is_busy() && exchange.left() > Duration{0})
    if (!peers->progress()) std::this_thread::sleep_for(Micros{50});
  if (members.rank != 0 || !all) return;
  std::uint64_t sum[SUMAC_TALLY_NUMBERS] = {}, one[SUMAC_TALLY_NUMBERS];
  for (const Bytes& bytes : *all) {
    if (bytes.size() != sizeof sum) return;
    std::memcpy(one, bytes.data(), sizeof one);
    for (std::size_t i = 0; i < std::size(sum); ++i) sum[i] += one[i];
  }
  sumac_tally tally;
  std::memcpy(&tally, sum, sizeof tally);
  sumac_tally_print(&tally, job_id, settings.level >= HCOLL_PROBE && members.hosts > 1, "program");
}

}  // namespace sumac::rank
