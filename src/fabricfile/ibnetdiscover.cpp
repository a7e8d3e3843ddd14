// The output of ibnetdiscover is a list of records, one for each switch and channel adapter (CA), with blank lines
// between them:
//
//   switchguid=0x200001(200001)
//   Switch	36 "S-0000000000200001"		# "leaf 1" base port 0 lid 3 lmc 0
//   [1]	"H-0000000000100000"[1](100001) 		# "node1 mlx5_0" lid 1 4xEDR
//
//   caguid=0x100000
//   Ca	1 "H-0000000000100000"		# "node1 mlx5_0"
//   [1](100001) 	"S-0000000000200001"[1]		# lid 1 lmc 0 "leaf 1" lid 3 4xEDR
//
// Every link appears twice, once from each end. So a truncated file is always detected: some link leads to a record or
// a port that is missing.
#include "fabricfile/ibnetdiscover.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "fabricfile/line_cursor.hpp"
#include "topo/validate.hpp"

namespace sumac {

namespace {

// The description of a switch's reduction engine.
constexpr std::string_view kAggregationNode = "Mellanox Technologies Aggregation Node";
constexpr std::uint32_t kPortsMax = 254;      // A port number is a byte, and 0 and 255 have other meanings.
constexpr std::uint32_t kLidMax = 0xBFFF;     // Larger LIDs name multicast groups.
constexpr std::size_t kRecordsMax = 131'072;  // This is more than the addresses of a subnet.
constexpr std::size_t kLineMax = 4096;
constexpr std::string_view kRemedy = "make the file with `ibnetdiscover > FILE`, without options";

/// The data rate of one lane, after the overhead of its coding.
struct Speed {
  std::string_view name;
  std::uint64_t bits_per_s;
};
constexpr std::array kSpeeds = {
    Speed{"SDR", 2'000'000'000},    Speed{"DDR", 4'000'000'000},   Speed{"QDR", 8'000'000'000},
    Speed{"FDR10", 10'000'000'000}, Speed{"FDR", 13'636'363'636},  Speed{"EDR", 25'000'000'000},
    Speed{"HDR", 50'000'000'000},   Speed{"NDR", 100'000'000'000}, Speed{"XDR", 200'000'000'000}};

enum class Kind { network_switch, ca, router };

struct Port {
  std::uint32_t number = 0;
  std::uint64_t guid = 0;
  std::uint32_t lid = 0;  ///< The LID of the port itself, which only a CA's line contains.
  std::string peer;
  std::uint32_t peer_port = 0;
  std::uint64_t peer_guid = 0;  ///< The GUID of the peer's port, if the line contains it.
  std::uint64_t rate_bits_per_s = 0;
  std::uint32_t line = 0;
};

struct Record {
  Kind kind = Kind::network_switch;
  std::string id;
  std::uint64_t guid = 0;
  std::uint32_t port_count = 0;
  std::uint32_t lid = 0;
  std::string description;
  std::vector<Port> ports;
  std::uint32_t line = 0;

  const Port* port(std::uint32_t number) const {
    const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.number == number; });
    return found == ports.end() ? nullptr : &*found;
  }
  bool aggregates() const { return kind == Kind::ca && description == kAggregationNode; }
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

char letter_of(Kind kind) { return kind == Kind::network_switch ? 'S' : kind == Kind::ca ? 'H' : 'R'; }

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<std::vector<Record>> read() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const auto end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      if (end - begin > kLineMax)
        return at(line_, "a line has {} bytes, more than ibnetdiscover writes: {}", end - begin, kRemedy);
      if (auto ok = read_line(trimmed(text_.substr(begin, end - begin))); !ok) return tl::unexpected(ok.error());
      begin = end + 1;
    }
    if (auto ok = check(); !ok) return tl::unexpected(ok.error());
    return std::move(records_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> at(std::uint32_t line, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Errc::invalid, "{}:{}: {}", name_, line, fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> unknown(std::string_view line) const {
    return at(line_, "not a line of ibnetdiscover, or cut short: '{:.60}': {}", line, kRemedy);
  }

  Result<> read_line(std::string_view line) {
    if (line.empty()) {
      open_ = false;
      guid_line_.reset();
      return {};
    }
    if (line.front() == '#') return {};
    if (line.front() == '[') return open_ ? read_port(line) : unknown(line);
    for (const auto* key : {"vendid=0x", "devid=0x", "sysimgguid=0x"}) {
      LineCursor cursor(line);
      if (!cursor.take(key)) continue;
      if (!cursor.number<std::uint64_t>(16) || !cursor.at_end()) return unknown(line);
      return {};
    }
    for (const auto* key : {"switchguid=0x", "caguid=0x", "rtguid=0x"}) {
      LineCursor cursor(line);
      if (!cursor.take(key)) continue;
      guid_line_ = cursor.number<std::uint64_t>(16);
      if (!guid_line_) return unknown(line);
      if (cursor.take("(") && (!cursor.number<std::uint64_t>(16) || !cursor.take(")"))) return unknown(line);
      return cursor.at_end() ? Result<>{} : unknown(line);
    }
    return read_header(line);
  }

  Result<> read_header(std::string_view line) {
    LineCursor cursor(line);
    Record record;
    record.line = line_;
    if (cursor.take("Switch")) {
      record.kind = Kind::network_switch;
    } else if (cursor.take("Ca")) {
      record.kind = Kind::ca;
    } else if (cursor.take("Rt")) {
      record.kind = Kind::router;
    } else {
      return unknown(line);
    }
    const auto ports = cursor.blanks().number<std::uint32_t>();
    const auto id = cursor.blanks().quoted();
    if (!ports || !id) return unknown(line);
    if (*ports == 0 || *ports > kPortsMax)
      return at(line_, "{} says it has {} ports: 1 to {} are possible", *id, *ports, kPortsMax);
    if (auto ok = read_id(*id, letter_of(record.kind), record.guid); !ok) return ok;
    if (guid_line_ && *guid_line_ != record.guid)
      return at(line_, "{} stands below the GUID {:#x}: one of the two is wrong: {}", *id, *guid_line_, kRemedy);
    record.id = *id;
    record.port_count = *ports;
    if (!cursor.blanks().take("#")) return unknown(line);
    const auto description = cursor.blanks().widely_quoted();
    if (!description) return unknown(line);
    record.description = trimmed(*description);
    if (record.kind == Kind::network_switch) {
      cursor.blanks();
      if (!cursor.take("enhanced") && !cursor.take("base")) return unknown(line);
      if (!cursor.blanks().take("port 0 lid ")) return unknown(line);
      const auto lid = cursor.number<std::uint32_t>();
      if (!lid) return unknown(line);
      if (auto ok = use_lid(*lid, record.id); !ok) return ok;
      record.lid = *lid;
    }
    if (records_.size() == kRecordsMax)
      return at(line_, "more than {} devices: no InfiniBand subnet has so many", kRecordsMax);
    const auto [first, fresh] = by_id_.emplace(record.id, records_.size());
    if (!fresh)
      return at(line_,
                "{} ('{}') stands here and in line {}: two devices have one GUID, or the file holds two runs: {}",
                record.id, record.description, records_[first->second].line, kRemedy);
    records_.push_back(std::move(record));
    open_ = true;
    return {};
  }

  Result<> read_id(std::string_view id, char letter, std::uint64_t& guid) const {
    const bool shape = id.size() == 18 && id[0] == letter && id[1] == '-';
    LineCursor cursor(shape ? id.substr(2) : std::string_view{});
    const auto number = cursor.number<std::uint64_t>(16);
    if (!number || !cursor.at_end())
      return at(line_, "'{:.40}' is no id: {} and 16 hex digits", id, std::string{letter, '-'});
    if (*number == 0) return at(line_, "{} has the GUID 0: set the device's GUID, then {}", id, kRemedy);
    guid = *number;
    return {};
  }

  Result<> use_lid(std::uint32_t lid, std::string_view who) {
    if (lid == 0) return {};  // No subnet manager has assigned a LID yet.
    if (lid > kLidMax) return at(line_, "{} has the LID {}: at most {} are possible", who, lid, kLidMax);
    const auto [first, fresh] = lids_.emplace(lid, who);
    if (!fresh && first->second != who)
      return at(line_, "{} and {} have the same LID {}: two runs in one file? {}", who, first->second, lid, kRemedy);
    return {};
  }

  Result<> read_port(std::string_view line) {
    auto& record = records_.back();
    LineCursor cursor(line);
    Port port;
    port.line = line_;
    if (!read_place(cursor, port.number, port.guid)) return unknown(line);
    const auto peer = cursor.blanks().quoted();
    if (!peer || !read_place(cursor, port.peer_port, port.peer_guid)) return unknown(line);
    port.peer = *peer;
    if (!cursor.blanks().take("#")) return unknown(line);
    if (cursor.blanks().take("lid ")) {
      const auto lid = cursor.number<std::uint32_t>();
      if (!lid) return unknown(line);
      port.lid = *lid;
      if (auto ok = use_lid(*lid, fmt::format("port {} of {}", port.number, record.id)); !ok) return ok;
      if (!cursor.blanks().take("lmc ") || !cursor.number<std::uint32_t>()) return unknown(line);
    }
    if (!cursor.blanks().widely_quoted()) return unknown(line);
    if (!cursor.blanks().take("lid ") || !cursor.number<std::uint32_t>()) return unknown(line);
    if (auto ok = read_rate(cursor.blanks().rest(), port.rate_bits_per_s); !ok) return ok;
    if (port.number == 0 || port.number > record.port_count)
      return at(line_, "there is no port {} of {}: it has ports 1 to {}", port.number, record.id, record.port_count);
    if (const auto* before = record.port(port.number))
      return at(line_, "port {} of {} stands here and in line {}: {}", port.number, record.id, before->line, kRemedy);
    if (record.kind == Kind::ca && port.guid != 0) {
      const auto [first, fresh] = port_guids_.emplace(port.guid, line_);
      if (!fresh)
        return at(line_, "the port GUID {:#x} stands here and in line {}: two ports have one GUID: mend the device's",
                  port.guid, first->second);
    }
    record.ports.push_back(std::move(port));
    return {};
  }

  /// Reads "[1]", "[1](100005)" or, on a modular switch, "[1][ext 7]".
  static bool read_place(LineCursor& cursor, std::uint32_t& number, std::uint64_t& guid) {
    if (!cursor.take("[")) return false;
    const auto value = cursor.number<std::uint32_t>();
    if (!value || !cursor.take("]")) return false;
    number = *value;
    if (cursor.take("[ext ") && (!cursor.number<std::uint32_t>() || !cursor.take("]"))) return false;
    if (!cursor.take("(")) return true;
    const auto hex = cursor.number<std::uint64_t>(16);
    if (!hex || !cursor.take(")")) return false;
    guid = *hex;
    return true;
  }

  /// Reads "4xEDR", which means four lanes of EDR. Any text behind it is for people.
  Result<> read_rate(std::string_view text, std::uint64_t& rate) const {
    const auto word = text.substr(0, text.find_first_of(" \t"));
    LineCursor cursor(word);
    const auto lanes = cursor.number<std::uint32_t>();
    if (!lanes || !cursor.take("x"))
      return at(line_, "'{:.20}' is no width and speed, like 4xEDR: the line is cut short, or the link was down: {}",
                word, kRemedy);
    const auto speed =
        std::find_if(kSpeeds.begin(), kSpeeds.end(), [&](const Speed& s) { return s.name == cursor.rest(); });
    if (speed == kSpeeds.end() || *lanes == 0 || *lanes > 16)
      return at(line_, "'{:.20}' is no speed that we know (1x to 16x SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR)",
                word);
    rate = *lanes * speed->bits_per_s;
    return {};
  }

  /// Checks every link from both ends.
  Result<> check() const {
    if (records_.empty()) return at(line_, "no device in the file: {}", kRemedy);
    for (const auto& record : records_) {
      if (record.ports.empty())
        return at(record.line, "{} has no port that is linked: the file is cut short: {}", record.id, kRemedy);
      for (const auto& port : record.ports) {
        const auto peer = by_id_.find(port.peer);
        if (peer == by_id_.end())
          return at(port.line, "port {} leads to {}, which the file does not describe: it is cut short: {}",
                    port.number, port.peer, kRemedy);
        const auto& other = records_[peer->second];
        const auto* back = other.port(port.peer_port);
        if (back == nullptr || back->peer != record.id || back->peer_port != port.number)
          return at(port.line,
                    "port {} leads to port {} of {}, which does not lead back (its record begins in line {}): {}",
                    port.number, port.peer_port, port.peer, other.line, kRemedy);
        if (port.peer_guid != 0 && back->guid != 0 && port.peer_guid != back->guid)
          return at(port.line, "port {} leads to the port GUID {:#x}, which is {:#x} in line {}: {}", port.number,
                    port.peer_guid, back->guid, back->line, kRemedy);
      }
    }
    return {};
  }

  std::string_view text_;
  std::string_view name_;
  std::uint32_t line_ = 0;
  bool open_ = false;  ///< True while port lines may follow, which belong to the last record.
  std::optional<std::uint64_t> guid_line_;
  std::vector<Record> records_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::unordered_map<std::uint64_t, std::uint32_t> port_guids_;
  std::unordered_map<std::uint32_t, std::string> lids_;
};

/// One adapter port of a host, before the ports are ordered.
struct HostPort {
  const Record* record = nullptr;
  const Port* port = nullptr;
  std::string device;
};

class Maker {
 public:
  Maker(const std::vector<Record>& records, std::string_view name) : records_(records), name_(name) {
    for (const auto& record : records_) by_id_.emplace(record.id, &record);
  }

  Result<topo::Fabric> make() {
    fabric_.name = fabric_name();
    for (const auto& record : records_) {
      auto ok = record.kind == Kind::network_switch ? add_switch(record)
                : record.kind == Kind::router       ? Result<>{}  // Another subnet lies beyond a router.
                : record.aggregates()               ? add_node(record)
                                                    : add_host_ports(record);
      if (!ok) return tl::unexpected(ok.error());
    }
    add_hosts();
    if (fabric_.hosts.empty())
      return fail(Errc::invalid, "{}: no host among {} devices: start ibnetdiscover where it sees the whole fabric",
                  name_, records_.size());
    if (auto ok = topo::validate(fabric_); !ok) return within(name_, ok.error());
    return std::move(fabric_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> at(std::uint32_t line, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Errc::invalid, "{}:{}: {}", name_, line, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string fabric_name() const {  // The fabric gets the file's name, without folder and extension.
    auto stem = name_.substr(name_.find_last_of('/') + 1);
    stem = stem.substr(0, stem.find_last_of('.'));
    std::string made(stem.substr(0, 63));
    for (auto& c : made)
      if (!(std::string_view("._-").find(c) != std::string_view::npos || (c >= '0' && c <= '9') ||
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        c = '-';
    return made.empty() || made.front() == '-' ? "fabric" : made;
  }

  const Record* switch_at(const Port& port) const {
    const auto* peer = by_id_.at(port.peer);
    return peer->kind == Kind::network_switch ? peer : nullptr;
  }

  Result<> add_switch(const Record& record) {
    topo::Switch made(record.id);
    made.guid = record.guid;
    made.description = record.description;
    fabric_.switches.push_back(std::move(made));
    for (const auto& port : record.ports) {
      // Each link is added once; a cable from a switch to itself carries nothing.
      if (switch_at(port) == nullptr || record.id >= port.peer) continue;
      topo::SwitchLink link{record.id, port.peer, {}, port.number, port.peer_port};
      link.spec.rate_bits_per_s = port.rate_bits_per_s;
      fabric_.links.push_back(std::move(link));
    }
    return {};
  }

  Result<> add_node(const Record& record) {
    for (const auto& port : record.ports) {
      if (switch_at(port) == nullptr) continue;
      topo::Node node;
      node.name = fmt::format("an-{:016x}", record.guid);
      node.place.at_switch = port.peer;
      node.guid = record.guid;
      node.lid = port.lid;
      fabric_.nodes.push_back(std::move(node));
      return {};
    }
    return at(record.line, "the aggregation node {} is not linked to a switch", record.id);
  }

  Result<> add_host_ports(const Record& record) {
    const auto space = record.description.find(' ');
    const auto host = record.description.substr(0, space);
    const auto device = space == std::string::npos ? std::string{} : record.description.substr(space + 1);
    if (host.empty())
      return at(record.line, "{} has no description, so its host has no name: set the node description", record.id);
    auto& ports = hosts_[host];
    for (const auto& other : ports)
      if (other.device == device)
        return at(
            record.line,
            "host {} is listed twice with device '{}', first in line {}: give each adapter a node description of its "
            "own, \"HOST DEVICE\"",
            host, device, other.record->line);
    const auto before = ports.size();
    for (const auto& port : record.ports)
      if (switch_at(port) != nullptr) ports.push_back({&record, &port, device});
    if (ports.size() == before) return at(record.line, "host {} ({}) is not linked to a switch", host, record.id);
    return {};
  }

  void add_hosts() {
    for (auto& [name, ports] : hosts_) {
      std::sort(ports.begin(), ports.end(),
                [](const HostPort& a, const HostPort& b) {  // This puts mlx5_2 before mlx5_10.
                  return std::tuple(a.device.size(), a.device, a.port->number) <
                         std::tuple(b.device.size(), b.device, b.port->number);
                });
      topo::Host host;
      host.name = name;
      for (std::size_t i = 0; i < ports.size(); ++i) {
        const auto& [record, port, device] = ports[i];
        topo::Rail rail{port->peer, {}, port->guid != 0 ? port->guid : record->guid, port->lid, device};
        rail.link.rate_bits_per_s = port->rate_bits_per_s;
        if (i > 0) {
          host.rails.push_back(std::move(rail));
          continue;
        }
        host.leaf = rail.leaf;
        host.link = rail.link;
        host.guid = rail.guid;
        host.lid = rail.lid;
        host.device = rail.device;
      }
      fabric_.hosts.push_back(std::move(host));
    }
  }

  const std::vector<Record>& records_;
  std::string_view name_;
  std::unordered_map<std::string_view, const Record*> by_id_;
  std::map<std::string, std::vector<HostPort>> hosts_;
  topo::Fabric fabric_;
};

}  // namespace

Result<topo::Fabric> parse_ibnetdiscover(std::string_view text, std::string_view name) {
  auto records = Reader(text, name).read();
  if (!records) return tl::unexpected(records.error());
  return Maker(*records, name).make();
}

bool looks_like_ibnetdiscover(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("# Topology file: generated")) return true;
    if (line.empty() || line.front() == '#') continue;
    for (const auto* word : {"vendid=0x", "devid=0x", "sysimgguid=0x", "switchguid=0x", "caguid=0x", "rtguid=0x",
                             "Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt "})
      if (line.starts_with(word)) return true;
    return false;
  }
  return false;
}

}  // namespace sumac
