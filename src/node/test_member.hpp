#pragma once
// Members of a group for tests: proto's client side over real TCP connections, all driven by one thread.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/buffer.hpp"
#include "net/transport.hpp"
#include "proto/client_link.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::node {

/// The facts that every member of a test's job knows.
struct TestJob {
  JobId job_id{};
  TreeId tree_id{1};
  std::uint32_t osts = 4, payload = 128, stream_window = 0, chunk = 0;
  bool outlives = false;  ///< Its groups outlive their tree.
  std::vector<proto::NodeParent> tree;
  std::map<NodeId, std::string> address;  ///< The address of each node.
  std::vector<NodeId> leaf_of_rank;
  Secret key{};
};

class TestMember final : private net::TransportEvents, private proto::Outbox {
 public:
  /// `is_stranger` marks a member that the node must reject.
  TestMember(const TestJob& job, std::uint32_t rank, bool is_stranger = false)
      : job_(job), rank_(rank), expects_to_be_served_(!is_stranger), pool_(64u << 20) {
    net::TransportConfig config;
    transport_ = net::make_transport(config, pool_).value();
    proto::ClientLinkConfig link;
    link.job_id = job.job_id;
    const auto leaf = job.leaf_of_rank.at(rank);
    link.leaf = {leaf, job.key, job.address.at(leaf)};
    link.world_rank = WorldRank{rank};
    link.host = fmt::format("h{}", rank);
    link.tree_id = job.tree_id;
    link_ = std::make_unique<proto::ClientLink>(link, static_cast<proto::Outbox&>(*this));
    conn_ = transport_->connect(job.address.at(leaf)).value();
    link_->set_link({conn_.value}, draw_secret().value(), monotonic_now());
  }

  void open(std::uint64_t token, std::uint32_t size) { link_->open(token, size, monotonic_now()); }
  proto::OpenOutcome opened(std::uint64_t token) const { return link_->open_outcome(token); }

  void join(GroupId group_id) {
    proto::ClientGroupConfig config;
    config.job_id = job_.job_id;
    config.tree_id = job_.tree_id;
    config.group_id = group_id;
    config.rank = rank_;
    config.world_rank = WorldRank{rank_};
    config.group_size = static_cast<std::uint32_t>(job_.leaf_of_rank.size());
    config.path = proto::compute_path(rank_, job_.leaf_of_rank, job_.tree).value();
    config.osts = job_.osts;
    config.payload_per_ost = job_.payload;
    config.stream_window = job_.stream_window;
    config.chunk_bytes = job_.chunk;
    config.outlives = job_.outlives;
    group_ = proto::ClientGroup::make(config, *this, {conn_.value}).value();
    link_->attach(*group_);
    group_->start(monotonic_now());
  }
  proto::ClientGroup& group() { return *group_; }
  proto::ClientLink& link() { return *link_; }
  net::Transport& transport() { return *transport_; }
  void say(const wire::AggHeader& header) { EXPECT_EQ(transport_->send(conn_, wire::encoded(header), {}), Errc::ok); }
  void hang_up() { transport_->close(conn_); }
  std::size_t progress() { return transport_->progress(*this); }

 private:
  void on_accepted(net::ConnId) override {}
  void on_connected(net::ConnId) override {}
  void on_message(net::ConnId, BufferRef frame) override { link_->on_message(std::move(frame), monotonic_now()); }
  void on_closed(net::ConnId, const Error& why) override { link_->on_closed(why, monotonic_now()); }
  void on_writable(net::ConnId) override {}
  void send(proto::LinkId to, const wire::AggHeader& header, const Payload& data) override {
    EXPECT_EQ(transport_->send({to.value}, wire::encoded(header), data), Errc::ok);
  }
  void send_control(proto::LinkId to, const wire::AggHeader& header, std::span<const std::byte> body) override {
    std::vector<std::byte> frame(wire::kAggHeaderBytes + body.size());
    wire::encode(header, std::span(frame).first<wire::kAggHeaderBytes>());
    std::copy(body.begin(), body.end(), frame.begin() + wire::kAggHeaderBytes);
    EXPECT_NE(transport_->send({to.value}, frame, {}), Errc::invalid);
  }
  void drop(proto::LinkId link, const Error& why) override {
    if (expects_to_be_served_) ADD_FAILURE() << "the node broke a rule: " << why.context;
    transport_->close({link.value});
  }

  const TestJob& job_;
  std::uint32_t rank_;
  const bool expects_to_be_served_;
  BufferPool pool_;
  std::unique_ptr<net::Transport> transport_;
  net::ConnId conn_;
  std::unique_ptr<proto::ClientLink> link_;
  // Must be destroyed first, because it speaks through the members above; it does not detach itself.
  std::unique_ptr<proto::ClientGroup> group_;
};

/// A group of all ranks of the job, driven until a condition holds. Each pass calls `others`, which drives nodes of the
/// same process.
class TestGroup {
 public:
  TestGroup(const TestJob& job, std::function<void()> others = {}) : others_(std::move(others)) {
    for (std::uint32_t rank = 0; rank < job.leaf_of_rank.size(); ++rank)
      members.push_back(std::make_unique<TestMember>(job, rank));
  }
  ~TestGroup() {
    for (auto& member : members) {  // The same order as in the client library: first the group, then its link.
      if (joined_) member->link().detach(member->group());
    }
  }

  /// Returns false if the condition does not hold within `limit`. Only a hang reaches the limits that tests use.
  bool until(const std::function<bool()>& holds, Duration limit = Seconds(30)) {
    const Time end = monotonic_now() + limit;
    while (!holds()) {
      for (auto& member : members) member->progress();
      if (others_) others_();
      if (monotonic_now() > end) return false;
    }
    return true;
  }

  /// Opens and joins the group; afterwards its phase is standing or refused.
  proto::OpenOutcome form(std::uint64_t token) {
    const auto size = static_cast<std::uint32_t>(members.size());
    EXPECT_TRUE(until([&] { return all([](auto& m) { return m.link().settled(); }); }));
    members[0]->open(token, size);
    EXPECT_TRUE(until([&] { return members[0]->opened(token).state != proto::OpenOutcome::State::pending; }));
    const auto outcome = members[0]->opened(token);
    if (outcome.state != proto::OpenOutcome::State::opened) return outcome;
    for (auto& member : members) member->join(outcome.group_id);
    joined_ = true;
    EXPECT_TRUE(
        until([&] { return all([](auto& m) { return m.group().phase() != proto::ClientGroup::Phase::joining; }); }));
    return outcome;
  }

  bool all(const std::function<bool(TestMember&)>& holds) {
    for (auto& member : members)
      if (!holds(*member)) return false;
    return true;
  }

  /// Performs one allreduce (sum of int64: element i of rank r is r * 1000003 + i + salt); returns true if every member
  /// has the exact sum.
  bool allreduce(std::size_t count, std::int64_t salt, bool streaming = false) {
    const auto ranks = static_cast<std::int64_t>(members.size());
    std::vector<std::vector<std::int64_t>> in(members.size(), std::vector<std::int64_t>(count)), out = in;
    for (std::size_t r = 0; r < members.size(); ++r) {
      for (std::size_t i = 0; i < count; ++i)
        in[r][i] = static_cast<std::int64_t>(r) * 1'000'003 + static_cast<std::int64_t>(i) + salt;
      proto::Operation operation;
      operation.coll = wire::Coll::allreduce;
      operation.op = Op::sum;
      operation.dtype = Dtype::int64;
      operation.count = count;
      operation.src = std::as_bytes(std::span(in[r]));
      operation.dst = std::as_writable_bytes(std::span(out[r]));
      operation.streaming = streaming;
      const auto posted = members[r]->group().post(operation, monotonic_now());
      EXPECT_TRUE(posted.has_value()) << (posted ? "" : to_string(posted.error()));
      if (!posted) return false;
    }
    std::size_t done = 0;
    bool good = true;
    if (!until([&] {
          for (auto& member : members)
            while (const auto completion = member->group().next_completion()) {
              good &= completion->status == Errc::ok;
              ++done;
            }
          return done == members.size();
        }))
      return false;
    for (std::size_t r = 0; r < members.size(); ++r)
      for (std::size_t i = 0; i < count; ++i)
        good &= out[r][i] == ranks * (ranks - 1) / 2 * 1'000'003 + ranks * (static_cast<std::int64_t>(i) + salt);
    return good;
  }

  bool leave() {
    for (auto& member : members) member->group().leave(monotonic_now());
    return until([&] { return all([](auto& m) { return m.group().phase() == proto::ClientGroup::Phase::left; }); });
  }

  std::vector<std::unique_ptr<TestMember>> members;

 private:
  std::function<void()> others_;
  bool joined_ = false;
};

}  // namespace sumac::node
