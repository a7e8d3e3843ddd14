#include "client/tree/link.hpp"

#include <algorithm>
#include <array>

#include "wire/hop_frame.hpp"

namespace sumac::client {
namespace {

constexpr int kDatagramsPerPass = 16;  ///< A flood of them must not starve the link.

/// Shortens an address for users: a worker's address of ucx is 200 letters of hex, which tell them nothing.
std::string for_people(const std::string& address) {
  return address.size() <= 64 ? address : address.substr(0, 20) + "...";
}

struct Leaf {
  NodeId node_id;
  const std::string* name;
  const std::string* address;
};

Outcome<Leaf> leaf_of(const Job& job, const JobTree& tree, WorldRank world_rank) {
  if (number_of(world_rank) >= job.rank_host.size())
    return failure(SHARP_COLL_ETREE_INFO, "world rank {} in a job of {} ranks", world_rank, job.rank_host.size());
  const auto leaf = job.leaf_of(tree, world_rank);
  const Leaf found{leaf, tree.name_of(leaf), tree.address_of(leaf)};
  if (found.address == nullptr)
    return failure(SHARP_COLL_ETREE_INFO, "node {} is not in tree {}", leaf, tree.body.tree_id);
  return found;
}

}  // namespace

Outcome<std::vector<TreePort>> ports_to_trees(const Job& job, WorldRank world_rank, const DeviceList& devices,
                                              std::uint32_t channel) {
  std::vector<std::vector<bool>> leads;
  std::vector<bool> by_none;
  std::vector<std::string> stand_ins;
  for (const auto& tree : job.trees) {
    const auto leaf = leaf_of(job, tree, world_rank);
    if (!leaf) return tl::unexpected(leaf.error());
    auto ways = ways_to(devices, *leaf->address);
    if (!ways) return tl::unexpected(ways.error());
    if (!devices.empty() && std::ranges::find(ways->leads, true) == ways->leads.end())
      return failure(SHARP_COLL_ECONN_TREE,
                     "{}: no way from there to node {} at {} of tree {}: name a port of its rail too, or "
                     "SHARP_COLL_IB_DEV_LIST=any",
                     devices.origin, *leaf->name, *leaf->address, tree.body.tree_index);
    leads.push_back(std::move(ways->leads));
    by_none.push_back(ways->by_none);
    stand_ins.push_back(devices.is_stood_in_for() ? port_towards(*leaf->address) : "");
  }
  const auto chosen = choose_ports(leads, channel);
  std::vector<TreePort> ports;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    TreePort port{chosen[i], static_cast<std::uint32_t>(std::ranges::count(leads[i], true)), {}};
    if (port.port >= 0 && !by_none[i]) port.interface = devices.ports[static_cast<std::size_t>(port.port)].interface;
    if (devices.is_stood_in_for()) port.stand_in = stand_ins[i];
    ports.push_back(std::move(port));
  }
  return ports;
}

Outcome<std::string> common_backend(const Job& job, WorldRank world_rank, const std::string& wanted) {
  std::string backend, from;
  for (const auto& tree : job.trees) {
    const auto leaf = leaf_of(job, tree, world_rank);
    if (!leaf) return tl::unexpected(leaf.error());
    const auto offered = leaf->address->substr(0, leaf->address->find(':'));
    if (wanted != "auto" && wanted != offered)
      return failure(SHARP_COLL_ECONN_TREE,
                     "SUMAC_TRANSPORT={}, but node {} offers {}; unset it, or start sharp_an with that transport",
                     wanted, *leaf->name, offered);
    if (!backend.empty() && backend != offered)
      return failure(SHARP_COLL_ECONN_TREE, "node {} offers {}, but node {} {}; start all sharp_an with one transport",
                     from, backend, *leaf->name, offered);
    backend = offered;
    from = *leaf->name;
  }
  return backend;
}

Outcome<std::unique_ptr<TreeLink>> TreeLink::begin(const Job& job, const JobTree& tree, WorldRank world_rank,
                                                   const std::string& host, net::Transport& transport,
                                                   proto::Outbox& outbox, std::string_view interface) {
  const auto leaf = leaf_of(job, tree, world_rank);
  if (!leaf) return tl::unexpected(leaf.error());
  const auto nonce = draw_secret();
  if (!nonce) return failure(SHARP_COLL_ECONN_TREE, "sharp_connect_tree failed: {}", nonce.error().context);
  if (const auto ready = prepare_hmac(); !ready)
    return failure(SHARP_COLL_ECONN_TREE, "sharp_connect_tree failed: {}", ready.error().context);
  auto conn = transport.connect_by(interface, *leaf->address);
  if (!conn)
    return failure(SHARP_COLL_ECONN_TREE, "sharp_connect_tree failed: node {}: {}", *leaf->name, conn.error().context);
  std::unique_ptr<TreeLink> link(new TreeLink(tree, *leaf->name, *leaf->address, *conn, world_rank));
  proto::ClientLinkConfig config;
  config.job_id = job.id;
  config.leaf = {leaf->node_id, job.granted.job_key, *leaf->address};
  config.world_rank = world_rank;
  config.host = host;
  config.tree_id = tree.body.tree_id;
  link->engine_ = std::make_unique<proto::ClientLink>(config, outbox);
  link->engine_->set_link(link->id(), *nonce, monotonic_now());
  return link;
}

Outcome<> TreeLink::check(net::Transport& transport, Millis waited, Millis silent_after) {
  if (closed())
    return failure(SHARP_COLL_ECONN_TREE, "sharp_connect_tree failed: node {} at {}: {}{}", node_, for_people(address_),
                   engine_->why_closed(), is_connected_ ? "" : "; is sharp_an running there?");
  if (!engine_->proven())
    return failure(SHARP_COLL_ECONN_TREE,
                   "sharp_connect_tree failed: node {} at {} does not answer in {} ms; is sharp_an running there?",
                   node_, for_people(address_), waited.count());
  // A frozen node must not hang the job for ever; a node that is only slow (many processes on few cores) must not end
  // it. The node's own keep-alive messages show that it lives.
  if (transport.watch(conn_, Millis{0}, silent_after) != Errc::ok)
    return failure(SHARP_COLL_ECONN_TREE, "sharp_connect_tree failed: node {} at {} is gone again", node_,
                   for_people(address_));
  return {};
}

TreeLink::~TreeLink() { close_datagrams(); }

void TreeLink::close_datagrams() noexcept {
  if (datagrams_) transport_->remove_reader(datagrams_->fd());
  datagrams_.reset();
}

std::uint16_t TreeLink::datagram_port(net::Transport& transport) {
  if (datagrams_) return datagrams_->port();
  if (!engine_->leaf_takes_datagrams()) return 0;
  const auto local = net::parse_address(transport.local(conn_));
  const auto leaf = net::parse_address(std::string_view(address_).substr(address_.find(':') + 1));
  if (!local || !leaf || !address_.starts_with("tcp:") || local->family() != leaf->family()) return 0;
  auto made = net::DatagramSocket::connect(*local, *leaf);
  if (!made || transport.add_reader(made->fd(), datagram_token()) != Errc::ok) return 0;
  transport_ = &transport;
  datagrams_ = *std::move(made);
  return datagrams_->port();
}

void TreeLink::receive_datagrams(Time now) {
  for (int i = 0; i < kDatagramsPerPass && datagrams_; ++i) {
    std::array<std::byte, wire::kHopFrameMax + 1> bytes;
    const std::size_t size = datagrams_->receive(bytes);
    if (size == 0) return;
    engine_->on_datagram(std::span(bytes).first(size), now);
  }
}

void TreeLink::on_closed(const Error& why) {
  end_ = net::peer_end(why);
  engine_->on_closed(why, monotonic_now());
  close_unused_datagrams();
}

void TreeLink::close_unused_datagrams() noexcept {
  if (closed() && !engine_->takes_datagrams()) close_datagrams();
}

std::string TreeLink::describe() const {
  if (end_.silence.count() != 0)
    return fmt::format(" (node {} ({}) stopped answering; rank {} noticed after {:.1f} s)", node_, end_.host,
                       world_rank_, static_cast<double>(end_.silence.count()) / 1000);
  return fmt::format(" (node {} at {}: {}; look at its log)", node_, address_, engine_->why_closed());
}

}  // namespace sumac::client
