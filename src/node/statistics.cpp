// The counters and the state of a node as JSON, for SIGUSR1, --stats-file and tests.
#include "node/statistics.hpp"

#include <nlohmann/json.hpp>

#include "node/data_path.hpp"

namespace sumac::node {
namespace {

using nlohmann::json;

const char* to_string(proto::GroupView::Phase phase) {
  using Phase = proto::GroupView::Phase;
  switch (phase) {
    case Phase::collecting_joins: return "collecting_joins";
    case Phase::awaiting_joined: return "awaiting_joined";
    case Phase::standing: return "standing";
    case Phase::condemned: return "condemned";
    case Phase::refusing: return "refusing";
    case Phase::passing_leave: return "passing_leave";
  }
  return "?";
}

std::int64_t micros(Duration time) { return std::chrono::duration_cast<Micros>(time).count(); }

/// `slowest` names the child for which the others waited longest; it is absent if none waited.
template <class Name>
json describe(const proto::GroupView& group, const Name& name) {
  json children = json::array();
  const proto::ChildView* slowest = nullptr;
  Duration waited{0};
  std::uint64_t messages = 0, bytes = 0;
  for (const auto& child : group.children) {
    children.push_back({{"name", name(child)},
                        {child.role == wire::Role::node ? "node" : "host", child.name},
                        {"lowest_rank", child.lowest_rank},
                        {"members", child.members},
                        {"messages", child.messages},
                        {"bytes", child.bytes},
                        {"came_last", child.came_last},
                        {"kept_waiting_us", micros(child.kept_waiting)},
                        {"missing", child.missing},
                        {"left", child.left}});
    messages += child.messages;
    bytes += child.bytes;
    waited += child.kept_waiting;
    if (slowest == nullptr || child.kept_waiting > slowest->kept_waiting) slowest = &child;
  }
  json text = {{"id", number_of(group.group_id)},
               {"job", number_of(group.job_id)},
               {"phase", to_string(group.phase)},
               {"root", group.root},
               {"size", group.group_size},
               {"members", group.members},
               {"osts", group.osts},
               {"stream_window", group.stream_window},
               {"operations", group.operations},
               {"streaming_operations", group.streaming_operations},
               {"messages", messages},
               {"bytes", bytes},
               {"waited_us", micros(waited)},
               {"children", std::move(children)}};
  if (waited.count() > 0) text["slowest"] = name(*slowest);
  return text;
}

}  // namespace

/// Names a child: "rank 5 on host h3 (10.0.0.7:41022)", "node an-leaf1 (10.0.0.2:7000)". A group that is over may name
/// a closed connection.
std::string DataPath::name_of_child(const proto::ChildView& child) const {
  return fmt::format("{} ({})", proto::who(child.role, child.peer, child.name), transport_->peer({child.link.value}));
}

std::string DataPath::statistics_json() const {
  json top;
  const auto& net = transport_->stats();
  top["transport"] = {{"address", transport_->address()}, {"messages_in", net.messages_in},
                      {"messages_out", net.messages_out}, {"bytes_in", net.bytes_in},
                      {"bytes_out", net.bytes_out},       {"system_calls", net.system_calls}};
  const auto pool = pool_.stats();
  top["buffers"] = {{"bytes_held", pool.bytes_held},
                    {"bytes_in_use", pool.bytes_in_use},
                    {"allocations", pool.allocations},
                    {"refusals", pool.refusals}};
  if (node_ == nullptr) return top.dump(2);
  const auto& s = node_->stats();
  top["node"] = {{"id", number_of(node_->config().node_id)},
                 {"root", node_->config().root},
                 {"links", node_->links()},
                 {"messages_in", s.messages_in},
                 {"bytes_in", s.bytes_in},
                 {"messages_out", s.messages_out},
                 {"bytes_out", s.bytes_out},
                 {"answered", s.answered},
                 {"operations", s.operations},
                 {"streaming_operations", s.streaming_operations},
                 {"late_copies", s.late_copies},
                 {"resends", s.resends},
                 {"offences", s.offences},
                 {"verdicts", s.verdicts},
                 {"groups_formed", s.groups_formed},
                 {"groups_refused", s.groups_refused},
                 {"groups_left", s.groups_left},
                 {"buffer_copies", s.buffer_copies},
                 {"window_bytes", s.window_bytes},
                 {"multicasts", s.multicasts},
                 {"multicast_bytes", s.multicast_bytes},
                 {"multicasts_lost", multicaster_.lost()}};
  if (datagrams_) {
    const auto kernel = datagrams_->counts();
    top["hop"] = {{"frames", kernel.frames}, {"folds", kernel.folds},         {"repeats", kernel.repeats},
                  {"sent", kernel.sent},     {"strangers", kernel.strangers}, {"expired", kernel.expired},
                  {"runs", kernel.runs},     {"run_ns", kernel.run_ns}};
  }
  top["jobs"] = json::array();
  for (const auto& job : node_->jobs())
    top["jobs"].push_back({{"id", number_of(job.grant.job_id)},
                           {"revoked", job.revoked},
                           {"osts", job.grant.quota.osts},
                           {"osts_free", job.osts_free},
                           {"max_groups", job.grant.quota.max_groups},
                           {"groups_used", job.groups_used},
                           {"operations", job.operations},
                           {"streaming_operations", job.streaming_operations}});
  const auto name = [&](const proto::ChildView& child) { return name_of_child(child); };
  top["groups"] = json::array();
  for (const auto& group : node_->groups()) top["groups"].push_back(describe(group, name));
  top["finished_groups"] = json::array();
  for (const auto& group : node_->finished()) top["finished_groups"].push_back(describe(group, name));
  return top.dump(2);
}

std::string statistics_json(const std::string& node, std::span<const TreeStatistics> trees) {
  auto all = json::array();
  for (const auto& tree : trees) {
    auto one = json::parse(tree.json);
    one["tree"] = tree.index;
    one["tree_id"] = number_of(tree.id);
    all.push_back(std::move(one));
  }
  return json{{"name", node}, {"trees", std::move(all)}}.dump(2);
}

}  // namespace sumac::node
