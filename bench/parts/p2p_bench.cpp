// Times allreduces of a group without a tree on the hosts of a lab, beside two yardsticks: the least time that the link
// rate allows, and a bare exchange, in which each member sends the same bytes to the same partners over the same
// transport and does nothing else. Usage, with the blobs' exchange on its pipes (p2p.py starts one on each host):
//   sumac-p2pbench RANK SIZE RATE_MBIT BYTES[,BYTES...] [ALGORITHM]
// Rank 0 prints a line of JSON for each size: medians over iterations of the mean over ranks, in us.
#include <algorithm>
#include <array>
#include <sstream>

#include "p2p/test_pipes.hpp"
#include "reduce/reduce.hpp"

namespace {

using namespace sumac;
using namespace sumac::p2p;

coll::Fold sum_of(Dtype dtype, std::size_t bytes) {
  coll::Fold fold;
  fold.kernel = reduce::kernel_for(Op::sum, dtype);
  fold.element_bytes = bytes;
  fold.dtype = dtype;
  fold.op = Op::sum;
  return fold;
}
const coll::Fold kFloats = sum_of(Dtype::float32, 4), kTimes = sum_of(Dtype::float64, 8);

void must(bool is_well, const Group& group) {
  if (is_well) return;
  fmt::print(stderr, "sumac-p2pbench: {}\n", group.error());
  std::exit(1);
}

void run(Group& group, const coll::Operation& operation, const Algorithm* algorithm = nullptr) {
  void* request = nullptr;
  auto progress =
      algorithm != nullptr ? group.start_by(operation, *algorithm, request) : group.start(operation, request);
  if (progress == Group::Progress::pending) progress = group.wait(request);
  must(progress == Group::Progress::done, group);
}

double us_since(Time before) { return std::chrono::duration<double, std::micro>(monotonic_now() - before).count(); }

/// Returns the median over iterations, the first tenth left out, of the mean over ranks.
double median_of_means(Group& group, std::vector<double> times, std::uint32_t size) {
  run(group, {.kind = coll::Kind::allreduce, .out = times.data(), .bytes = times.size() * 8, .fold = &kTimes});
  times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, times.size() / 10)));
  std::ranges::sort(times);
  return times[times.size() / 2] / size;
}

/// The same partners as recursive doubling, one message each way in each round.
class Bare final : public net::TransportEvents {
 public:
  Bare(Group& group, std::uint32_t rank, std::uint32_t size) : pool_(16u << 20) {
    net::TransportConfig config;
    config.listen = "0.0.0.0:0";
    auto made = net::make_transport(config, pool_);
    if (!made) {
      fmt::print(stderr, "sumac-p2pbench: {}\n", made.error().context);
      std::exit(1);
    }
    transport_ = std::move(*made);
    std::vector<std::array<char, 64>> addresses(size);
    std::array<char, 64> mine{};
    const std::string address = transport_->address();
    std::copy(address.begin(), address.end(), mine.begin());
    run(group, {.kind = coll::Kind::allgather, .in = mine.data(), .out = addresses.data(), .bytes = sizeof mine});
    std::uint32_t accepts = 0;
    for (std::uint32_t distance = 1; distance < size; distance *= 2) {
      const std::uint32_t partner = rank ^ distance;
      rounds_.push_back({});
      if (partner > rank) {
        ++accepts;
        continue;
      }
      rounds_.back().conn = *transport_->connect(addresses[partner].data());
      by_conn_[rounds_.back().conn.value] = rounds_.size() - 1;
      const auto me = static_cast<std::byte>(rounds_.size() - 1);
      if (transport_->send(rounds_.back().conn, {&me, 1}, {}) != Errc::ok) std::exit(1);
    }
    const auto connects = static_cast<std::uint32_t>(rounds_.size()) - accepts;
    while (accepted_ < accepts || connected_ < connects) waiter_.rest(transport_->progress(*this), *transport_);
    run(group, {.kind = coll::Kind::barrier});
  }

  void exchange(std::size_t bytes) {
    std::vector<std::byte> body(bytes);
    for (Round& round : rounds_) {
      if (transport_->send(round.conn, {}, {body, {}}) != Errc::ok) std::exit(1);
      for (++round.awaited; round.arrived < round.awaited;) {
        const auto events = transport_->progress(*this);
        if (round.arrived < round.awaited) waiter_.rest(events, *transport_);
      }
    }
  }

 private:
  struct Round {
    net::ConnId conn;
    std::uint64_t arrived = 0, awaited = 0;
  };
  void on_accepted(net::ConnId) override {}
  void on_connected(net::ConnId) override { ++connected_; }
  void on_message(net::ConnId conn, BufferRef frame) override {
    const auto known = by_conn_.find(conn.value);
    if (known != by_conn_.end()) {
      ++rounds_[known->second].arrived;
      return;
    }
    const auto round = std::to_integer<std::size_t>(*frame.data());
    rounds_.at(round).conn = conn;
    by_conn_[conn.value] = round;
    ++accepted_;
  }
  void on_closed(net::ConnId, const Error& why) override {
    fmt::print(stderr, "sumac-p2pbench: {}\n", why.context);
    std::exit(1);
  }
  void on_writable(net::ConnId) override {}

  BufferPool pool_;
  std::unique_ptr<net::Transport> transport_;
  net::Waiter waiter_;
  std::vector<Round> rounds_;
  std::unordered_map<std::uint32_t, std::size_t> by_conn_;
  std::uint32_t accepted_ = 0, connected_ = 0;
};

std::size_t iterations_of(std::size_t bytes) {
  if (bytes <= 65536) return 100;
  return bytes <= (4u << 20) ? 10 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: sumac-p2pbench RANK SIZE RATE_MBIT BYTES[,BYTES...] [ALGORITHM]\n");
    return 2;
  }
  const auto rank = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto size = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const double rate = std::atof(argv[3]) * 1e6;
  Algorithm forced{};
  bool is_forced = false;
  for (int i = 0; i < kAlgorithms && argc > 5; ++i)
    if (to_string(static_cast<Algorithm>(i)) == argv[5]) forced = static_cast<Algorithm>(i), is_forced = true;
  auto group = test::group_by_pipes({.rank = rank, .size = size});
  const bool has_bare = (size & (size - 1)) == 0;
  std::unique_ptr<Bare> bare = has_bare ? std::make_unique<Bare>(*group, rank, size) : nullptr;
  if (rank == 0)
    fmt::print("{{\"trip_us\": {:.1f}, \"message_us\": {:.2f}, \"rate_mbit\": {:.1f}, \"mesh_mbit\": {:.1f}}}\n",
               group->costs().trip_s * 1e6, group->costs().message_s * 1e6, 8e-6 / group->costs().per_byte_s,
               8e-6 / group->costs().mesh_byte_s);
  std::istringstream sizes(argv[4]);
  for (std::string word; std::getline(sizes, word, ',');) {
    const auto bytes = static_cast<std::size_t>(std::atoll(word.c_str()));
    std::vector<float> data(bytes / 4);
    const coll::Operation operation{
        .kind = coll::Kind::allreduce, .out = data.data(), .bytes = bytes, .fold = &kFloats};
    const std::size_t iterations = iterations_of(bytes);
    std::vector<double> ours(iterations), theirs(iterations);
    const bool with_bare = bare != nullptr && bytes <= 1024;
    // The two take turns in blocks, so that both meet the same machine.
    constexpr std::size_t kBlock = 20;
    for (std::size_t from = 0; from < iterations; from += kBlock) {
      const std::size_t to = std::min(iterations, from + kBlock);
      run(*group, {.kind = coll::Kind::barrier});
      for (std::size_t i = from; i < to; ++i) {
        std::ranges::fill(data, 1.0F);
        const Time before = monotonic_now();
        run(*group, operation, is_forced ? &forced : nullptr);
        ours[i] = us_since(before);
        if (data.front() != static_cast<float>(size) || data.back() != static_cast<float>(size)) {
          fmt::print(stderr, "sumac-p2pbench: rank {}: a sum of {} bytes is wrong\n", rank, bytes);
          return 1;
        }
      }
      run(*group, {.kind = coll::Kind::barrier});
      for (std::size_t i = from; i < to && with_bare; ++i) {
        const Time before = monotonic_now();
        bare->exchange(bytes);
        theirs[i] = us_since(before);
      }
    }
    const double us = median_of_means(*group, ours, size), bare_us = median_of_means(*group, theirs, size);
    const double bound = cost::ring(size, static_cast<double>(bytes)).bytes * cost::byte_seconds(rate) * 1e6;
    if (rank == 0)
      fmt::print("{{\"bytes\": {}, \"us\": {:.1f}, \"bare_us\": {}, \"ring_bound_us\": {:.1f}, \"choice\": \"{}\"}}\n",
                 bytes, us, with_bare ? fmt::format("{:.1f}", bare_us) : "null", bound,
                 is_forced ? std::string(to_string(forced)) : group->explain(coll::Kind::allreduce, bytes, &kFloats));
    std::fflush(stdout);
  }
  return 0;
}
