#include "node/metrics.hpp"

#include "control/command_line.hpp"

namespace sumac::node {
namespace {

struct Number {
  const char* name;
  const char* help;
  std::uint64_t (*of)(const TreeNumbers&);
};

constexpr Number kCounters[] = {
    {"sumac_node_messages_received_total", "Contributions and results that came.",
     [](const TreeNumbers& t) { return t.node.messages_in; }},
    {"sumac_node_messages_sent_total", "Contributions and results that went.",
     [](const TreeNumbers& t) { return t.node.messages_out; }},
    {"sumac_node_received_bytes_total", "Payload of the messages that came.",
     [](const TreeNumbers& t) { return t.node.bytes_in; }},
    {"sumac_node_sent_bytes_total", "Payload of the messages that went.",
     [](const TreeNumbers& t) { return t.node.bytes_out; }},
    {"sumac_node_answered_total", "Numbers answered as their group's root; each fragment of an operation is one.",
     [](const TreeNumbers& t) { return t.node.answered; }},
    {"sumac_node_resends_total", "Messages that were sent again.", [](const TreeNumbers& t) { return t.node.resends; }},
    {"sumac_node_late_copies_total", "Messages that were ignored, because they were repeated or came too late.",
     [](const TreeNumbers& t) { return t.node.late_copies; }},
    {"sumac_node_offences_total", "Connections dropped because the peer broke a rule.",
     [](const TreeNumbers& t) { return t.node.offences; }},
    {"sumac_node_verdicts_total", "Groups that ended because a rank died or members disagreed, told as their root.",
     [](const TreeNumbers& t) { return t.node.verdicts; }},
    {"sumac_node_groups_formed_total", "Groups formed.", [](const TreeNumbers& t) { return t.node.groups_formed; }},
    {"sumac_node_groups_refused_total", "Groups refused.", [](const TreeNumbers& t) { return t.node.groups_refused; }},
    {"sumac_node_groups_left_total", "Groups that all members have left.",
     [](const TreeNumbers& t) { return t.node.groups_left; }},
    {"sumac_node_streams_denied_total", "Requests for the streaming lock that were denied here.",
     [](const TreeNumbers& t) { return t.node.streams_denied; }},
    {"sumac_node_multicasts_total", "Results that also went to a multicast address.",
     [](const TreeNumbers& t) { return t.node.multicasts; }},
    {"sumac_node_multicasts_lost_total", "Multicasts that the system did not take.",
     [](const TreeNumbers& t) { return t.multicasts_lost; }},
    {"sumac_node_hop_frames_total", "Datagrams of groups that the kernel took.",
     [](const TreeNumbers& t) { return t.datagrams.frames; }},
    {"sumac_node_hop_folds_total", "Sums that the kernel made.",
     [](const TreeNumbers& t) { return t.datagrams.folds; }},
    {"sumac_node_hop_repeats_total", "Datagrams that brought the kernel nothing new.",
     [](const TreeNumbers& t) { return t.datagrams.repeats; }},
    {"sumac_node_hop_sent_total", "Contributions and results that the kernel sent.",
     [](const TreeNumbers& t) { return t.datagrams.sent; }},
    {"sumac_node_hop_runs_total", "Runs of the kernel's program, counted while kernel.bpf_stats_enabled is 1.",
     [](const TreeNumbers& t) { return t.datagrams.runs; }},
    {"sumac_node_hop_strangers_total", "Datagrams to this node's port without the right tag or address.",
     [](const TreeNumbers& t) { return t.datagrams.strangers; }},
    {"sumac_node_hop_expired_total", "Datagrams that came when the lease of their group was over.",
     [](const TreeNumbers& t) { return t.datagrams.expired; }},
    {"sumac_node_connections_turned_away_total", "Connections that were refused because there was no room for more.",
     [](const TreeNumbers& t) { return t.net.turned_away; }},
    {"sumac_node_strangers_displaced_total", "Connections without proof of identity that made room for newer ones.",
     [](const TreeNumbers& t) { return t.net.displaced; }},
    {"sumac_node_buffer_refusals_total", "Reads that waited because the bound of memory was reached.",
     [](const TreeNumbers& t) { return std::uint64_t{t.buffers.refusals}; }},
};

constexpr Number kGauges[] = {
    {"sumac_node_parent_up", "1 while the parent is connected, and at the tree's root.",
     [](const TreeNumbers& t) { return std::uint64_t{t.has_parent}; }},
    {"sumac_node_connections", "Connections that are open.",
     [](const TreeNumbers& t) { return std::uint64_t{t.links}; }},
    {"sumac_node_jobs", "Jobs with a grant here.", [](const TreeNumbers& t) { return std::uint64_t{t.usage.jobs}; }},
    {"sumac_node_groups", "Groups that jobs hold here.",
     [](const TreeNumbers& t) { return std::uint64_t{t.usage.groups}; }},
    {"sumac_node_groups_max", "Groups that the node can hold.",
     [](const TreeNumbers& t) { return std::uint64_t{t.limits.groups}; }},
    {"sumac_node_osts_in_use", "OSTs that groups have reserved.",
     [](const TreeNumbers& t) { return std::uint64_t{t.usage.osts_in_use}; }},
    {"sumac_node_osts_granted", "OSTs that the manager has granted to jobs.",
     [](const TreeNumbers& t) { return std::uint64_t{t.usage.osts_granted}; }},
    {"sumac_node_osts_max", "OSTs that the node can hold.",
     [](const TreeNumbers& t) { return std::uint64_t{t.limits.osts}; }},
    {"sumac_node_streams", "Groups that hold the streaming lock.",
     [](const TreeNumbers& t) { return t.node.streams_held; }},
    {"sumac_node_buffer_bytes", "Memory of message buffers.",
     [](const TreeNumbers& t) { return std::uint64_t{t.buffers.bytes_held}; }},
};

}  // namespace

metrics::Page metrics_page(std::string_view name, bool registered, std::span<const TreeNumbers> trees) {
  metrics::Page page;
  metrics::add_build_info(page, "sharp_an", name, control::version_text());
  page.gauge("sumac_node_registered", "1 once the manager has accepted this node.").value(registered ? 1 : 0);
  const auto each = [&](const auto& add) {
    for (const auto& tree : trees) add(tree, fmt::format("{}", tree.index));
  };
  page.counter("sumac_node_operations_total", "Whole operations answered as their group's root.");
  each([&](const TreeNumbers& t, const std::string& tree) {
    page.value(t.node.operations, {{"tree", tree}, {"kind", "short"}});
    page.value(t.node.streaming_operations, {{"tree", tree}, {"kind", "streaming"}});
  });
  for (const auto& row : kCounters) {
    page.counter(row.name, row.help);
    each([&](const TreeNumbers& t, const std::string& tree) { page.value(row.of(t), {{"tree", tree}}); });
  }
  page.counter("sumac_node_hop_run_seconds_total", "Time that runs of the kernel's program took, counted as they are.");
  each([&](const TreeNumbers& t, const std::string& tree) {
    page.seconds(static_cast<double>(t.datagrams.run_ns) / 1e9, {{"tree", tree}});
  });
  for (const auto& row : kGauges) {
    page.gauge(row.name, row.help);
    each([&](const TreeNumbers& t, const std::string& tree) { page.value(row.of(t), {{"tree", tree}}); });
  }
  page.histogram("sumac_node_operation_seconds", "From a number's first contribution here until its result leaves.");
  each([&](const TreeNumbers& t, const std::string& tree) { page.value(t.node.operation, {{"tree", tree}}); });
  page.histogram("sumac_node_slowest_child_seconds", "From a number's first contribution here until the last child's.");
  each([&](const TreeNumbers& t, const std::string& tree) { page.value(t.node.slowest_child, {{"tree", tree}}); });
  return page;
}

}  // namespace sumac::node
