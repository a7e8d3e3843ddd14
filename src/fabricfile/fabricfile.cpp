#include "fabricfile/fabricfile.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>
#include <unordered_set>
#include <vector>

#include "base/read_file.hpp"
#include "base/text.hpp"
#include "fabricfile/ibnetdiscover.hpp"
#include "fabricfile/units.hpp"
#include "topo/validate.hpp"

namespace sumac {

namespace {

using topo::Fabric;
using topo::LinkSpec;

/// Expands "h[1-16]" to h1 to h16; any other name stays as it is.
std::vector<std::string> expand(const std::string& name) {
  const auto open = name.find('[');
  const auto dash = name.find('-', open);
  if (open == std::string::npos || dash == std::string::npos || name.back() != ']') return {name};
  unsigned first = 0;
  unsigned last = 0;
  const char* text = name.data();
  const auto a = std::from_chars(text + open + 1, text + dash, first);
  const auto b = std::from_chars(text + dash + 1, text + name.size() - 1, last);
  if (a.ptr != text + dash || b.ptr != text + name.size() - 1 || a.ec != std::errc{} || b.ec != std::errc{})
    return {name};
  if (last < first || last - first >= 4096) return {name};
  std::vector<std::string> names;
  for (auto i = first; i <= last; ++i) names.push_back(name.substr(0, open) + std::to_string(i));
  return names;
}

/// Keeps the file's name while reading, so that every error can give the position.
class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<Fabric> read(const YAML::Node& top) {
    if (auto ok = keys(top, "a fabric",
                       {"name", "defaults", "switches", "links", "hosts", "nodes", "root", "trees", "radix", "manager",
                        "daemons", "seed", "offload", "multicast"});
        !ok) {
      return tl::unexpected(ok.error());
    }
    Fabric fabric;
    for (auto step :
         {&Reader::scalars, &Reader::switches, &Reader::links, &Reader::hosts, &Reader::nodes, &Reader::manager}) {
      if (auto ok = (this->*step)(top, fabric); !ok) return tl::unexpected(ok.error());
    }
    if (auto ok = topo::validate(fabric); !ok) return within(name_, ok.error());
    return fabric;
  }

 private:
  template <class... Args>
  tl::unexpected<Error> at(const YAML::Node& node, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Errc::invalid, "{}:{}: {}", name_, node.Mark().line + 1,
                fmt::format(format, std::forward<Args>(args)...));
  }

  /// Checks that the map has only these keys, each at most once.
  Result<> keys(const YAML::Node& map, std::string_view what, std::initializer_list<std::string_view> known) const {
    if (!map.IsMap()) return at(map, "{} must be a map of key: value", what);
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const auto key = entry.first.Scalar();
      if (!seen.insert(key).second) return at(entry.first, "key '{}' stands twice in {}", key, what);
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const auto near = *std::min_element(
          known.begin(), known.end(), [&](auto a, auto b) { return edit_distance(key, a) < edit_distance(key, b); });
      if (edit_distance(key, near) <= 2)
        return at(entry.first, "unknown key '{}' in {}: did you mean '{}'?", key, what, near);
      std::string list;
      for (const auto k : known) list += (list.empty() ? "" : ", ") + std::string(k);
      return at(entry.first, "unknown key '{}' in {}: it knows {}", key, what, list);
    }
    return {};
  }

  Result<std::string> text(const YAML::Node& node, std::string_view what) const {
    if (!node.IsScalar()) return at(node, "{} must be one word", what);
    return node.Scalar();
  }

  template <class T>
  Result<T> number(const YAML::Node& node, std::string_view what) const {
    T value{};
    if (!node.IsScalar()) return at(node, "{} must be a number", what);
    const auto& s = node.Scalar();
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc{} || end != s.data() + s.size())
      return at(node, "{}: '{}' is not a number that fits", what, s);
    return value;
  }

  Result<bool> truth(const YAML::Node& node, std::string_view what) const {
    if (node.IsScalar() && node.Scalar() == "true") return true;
    if (node.IsScalar() && node.Scalar() == "false") return false;
    return at(node, "{} must be true or false", what);
  }

  template <class T>
  Result<> unit(const YAML::Node& map, const char* key, Result<T> (*parse)(std::string_view), T& into) const {
    const auto node = map[key];
    if (!node) return {};
    if (!node.IsScalar()) return at(node, "{} must be a number with a unit", key);
    auto value = parse(node.Scalar());
    if (!value) return at(node, "{}: {}", key, value.error().context);
    into = *value;
    return {};
  }

  /// Overwrites `spec` with the link properties that `map` contains.
  Result<> link_spec(const YAML::Node& map, LinkSpec& spec) const {
    if (auto ok = unit(map, "delay", parse_delay_ns, spec.delay_ns); !ok) return ok;
    if (auto ok = unit(map, "rate", parse_rate_bits_per_s, spec.rate_bits_per_s); !ok) return ok;
    if (auto ok = unit(map, "buffer", parse_size_bytes, spec.buffer_bytes); !ok) return ok;
    if (map["mtu"]) {
      auto mtu = number<std::uint32_t>(map["mtu"], "mtu");
      if (!mtu) return tl::unexpected(mtu.error());
      spec.mtu_bytes = *mtu;
    }
    if (map["loss"]) {
      auto loss = number<double>(map["loss"], "loss");
      if (!loss) return tl::unexpected(loss.error());
      spec.loss = *loss;
    }
    return {};
  }

  Result<> scalars(const YAML::Node& top, Fabric& fabric) {
    if (top["name"]) {
      auto name = text(top["name"], "name");
      if (!name) return tl::unexpected(name.error());
      fabric.name = *name;
    }
    if (const auto root = top["root"]) {
      const bool list = root.IsSequence();
      for (std::size_t i = 0; i < (list ? root.size() : 1); ++i) {
        auto name = text(list ? root[i] : root, "root");
        if (!name) return tl::unexpected(name.error());
        fabric.roots.push_back(*name);
      }
    }
    for (auto [key, into] : {std::pair("trees", &fabric.trees), std::pair("radix", &fabric.radix)}) {
      if (!top[key]) continue;
      auto count = number<std::uint32_t>(top[key], key);
      if (!count) return tl::unexpected(count.error());
      *into = *count;
    }
    if (top["daemons"]) {
      auto daemons = truth(top["daemons"], "daemons");
      if (!daemons) return tl::unexpected(daemons.error());
      fabric.daemons = *daemons;
    }
    if (top["offload"]) {
      auto offload = truth(top["offload"], "offload");
      if (!offload) return tl::unexpected(offload.error());
      fabric.offload = *offload;
    }
    if (top["multicast"]) {
      auto multicast = truth(top["multicast"], "multicast");
      if (!multicast) return tl::unexpected(multicast.error());
      fabric.multicast = *multicast;
    }
    if (top["seed"]) {
      auto seed = number<std::uint64_t>(top["seed"], "seed");
      if (!seed) return tl::unexpected(seed.error());
      fabric.seed = *seed;
    }
    if (const auto defaults = top["defaults"]) {
      if (auto ok = keys(defaults, "defaults", {"delay", "rate", "mtu", "buffer", "loss"}); !ok) return ok;
      if (auto ok = link_spec(defaults, defaults_); !ok) return ok;
    }
    return {};
  }

  Result<> switches(const YAML::Node& top, Fabric& fabric) {
    const auto list = top["switches"];
    if (!list) return {};
    if (!list.IsSequence()) return at(list, "switches must be a list of names");
    for (const auto& entry : list) {
      auto name = text(entry, "a switch");
      if (!name) return tl::unexpected(name.error());
      for (auto& each : expand(*name)) {
        switches_.insert(each);
        fabric.switches.emplace_back(std::move(each));
      }
    }
    return {};
  }

  Result<> links(const YAML::Node& top, Fabric& fabric) {
    const auto list = top["links"];
    if (!list) return {};
    if (!list.IsSequence()) return at(list, "links must be a list");
    for (const auto& entry : list) {
      if (auto ok = keys(entry, "a link", {"a", "b", "delay", "rate", "mtu", "buffer", "loss"}); !ok) return ok;
      topo::SwitchLink link{"", "", defaults_};
      for (auto [key, into] : {std::pair("a", &link.a), std::pair("b", &link.b)}) {
        if (!entry[key]) return at(entry, "a link needs its two ends: '{}' is missing", key);
        auto end = text(entry[key], key);
        if (!end) return tl::unexpected(end.error());
        *into = *end;
      }
      if (auto ok = link_spec(entry, link.spec); !ok) return ok;
      if (!switches_.contains(link.a)) return unknown_switch(entry["a"]);
      if (!switches_.contains(link.b)) return unknown_switch(entry["b"]);
      fabric.links.push_back(std::move(link));
    }
    return {};
  }

  tl::unexpected<Error> unknown_switch(const YAML::Node& name) const {
    return at(name, "there is no switch {}: add it to 'switches' or mend the name", name.Scalar());
  }

  Result<> port(const YAML::Node& map, std::string_view whose, std::string& leaf, LinkSpec& link,
                std::string& device) const {
    if (!map["leaf"]) return at(map, "{} has no leaf: add 'leaf: SWITCH'", whose);
    auto name = text(map["leaf"], "leaf");
    if (!name) return tl::unexpected(name.error());
    leaf = *name;
    if (!switches_.contains(leaf)) return unknown_switch(map["leaf"]);
    if (map["device"]) {
      auto name_of_it = text(map["device"], "device");
      if (!name_of_it) return tl::unexpected(name_of_it.error());
      device = *name_of_it;
    }
    return link_spec(map, link);
  }

  Result<> hosts(const YAML::Node& top, Fabric& fabric) {
    const auto map = top["hosts"];
    if (!map) return {};
    if (!map.IsMap()) return at(map, "hosts must be a map of NAME: {{leaf: SWITCH}}");
    for (const auto& entry : map) {
      const auto& value = entry.second;
      if (auto ok = keys(
              value, fmt::format("host {}", entry.first.Scalar()),
              {"leaf", "device", "delay", "rate", "mtu", "buffer", "loss", "slots", "compute", "rails", "shm", "tmp"});
          !ok) {
        return ok;
      }
      topo::Host host;
      host.link = defaults_;
      if (auto ok = port(value, fmt::format("host {}", entry.first.Scalar()), host.leaf, host.link, host.device); !ok)
        return ok;
      if (const auto rails = value["rails"]) {
        if (!rails.IsSequence()) return at(rails, "rails must be a list of {{leaf: SWITCH}}");
        for (const auto& each : rails) {
          if (auto ok = keys(each, "a rail", {"leaf", "device", "delay", "rate", "mtu", "buffer", "loss"}); !ok)
            return ok;
          topo::Rail rail;
          rail.link = host.link;
          if (auto ok =
                  port(each, fmt::format("a rail of host {}", entry.first.Scalar()), rail.leaf, rail.link, rail.device);
              !ok)
            return ok;
          host.rails.push_back(std::move(rail));
        }
      }
      if (value["slots"]) {
        auto slots = number<std::uint32_t>(value["slots"], "slots");
        if (!slots) return tl::unexpected(slots.error());
        host.slots = *slots;
      }
      if (auto ok = unit(value, "shm", parse_size_bytes, host.shm_bytes); !ok) return ok;
      if (auto ok = unit(value, "tmp", parse_size_bytes, host.tmp_bytes); !ok) return ok;
      bool said = false;
      if (value["compute"]) {
        auto compute = truth(value["compute"], "compute");
        if (!compute) return tl::unexpected(compute.error());
        host.compute = *compute;
        said = true;
      }
      for (auto& name : expand(entry.first.Scalar())) {
        host.name = name;
        if (said) compute_said_.insert(name);
        fabric.hosts.push_back(host);
      }
    }
    return {};
  }

  Result<> placement(const YAML::Node& map, topo::Placement& place) const {
    if (map["switch"]) {
      auto name = text(map["switch"], "switch");
      if (!name) return tl::unexpected(name.error());
      place.at_switch = *name;
    }
    if (map["host"]) {
      auto name = text(map["host"], "host");
      if (!name) return tl::unexpected(name.error());
      place.at_host = *name;
    }
    return {};
  }

  Result<> nodes(const YAML::Node& top, Fabric& fabric) {
    const auto map = top["nodes"];
    if (!map) return {};
    if (!map.IsMap()) return at(map, "nodes must be a map of NAME: {{switch: NAME}} or NAME: {{host: NAME}}");
    std::set<std::string> carriers;
    for (const auto& entry : map) {
      const auto& value = entry.second;
      topo::Node node;
      node.name = entry.first.Scalar();
      if (auto ok = keys(value, fmt::format("node {}", node.name), {"switch", "host", "link_rate"}); !ok) return ok;
      if (auto ok = placement(value, node.place); !ok) return ok;
      if (value["link_rate"]) {
        std::uint64_t rate = 0;
        if (auto ok = unit(value, "link_rate", parse_rate_bits_per_s, rate); !ok) return ok;
        node.link_rate_bits_per_s = rate;
      }
      carriers.insert(node.place.at_host);
      fabric.nodes.push_back(std::move(node));
    }
    // The traffic of a node fills the link of its host, so such a host gets no rank unless the file asks for it.
    for (auto& host : fabric.hosts) {
      if (carriers.contains(host.name) && !compute_said_.contains(host.name)) host.compute = false;
    }
    return {};
  }

  Result<> manager(const YAML::Node& top, Fabric& fabric) {
    const auto map = top["manager"];
    if (!map) return {};
    if (auto ok = keys(map, "manager", {"switch", "host", "port"}); !ok) return ok;
    topo::Manager manager;
    if (auto ok = placement(map, manager.place); !ok) return ok;
    if (map["port"]) {
      auto port = number<std::uint16_t>(map["port"], "port");
      if (!port) return tl::unexpected(port.error());
      manager.port = *port;
    }
    fabric.manager = manager;
    return {};
  }

  std::string name_;
  LinkSpec defaults_;
  std::unordered_set<std::string> switches_;
  std::set<std::string> compute_said_;
};

}  // namespace

Result<Fabric> parse_fabric(const std::string& text, std::string_view name) {
  if (looks_like_ibnetdiscover(text)) return parse_ibnetdiscover(text, name);
  try {
    return Reader{name}.read(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    return fail(Errc::invalid, "{}:{}: {}", name, e.mark.line + 1, e.msg);
  }
}

Result<Fabric> load_fabric(const std::string& path) {
  auto text = read_file(path, "fabric file");
  if (!text) return tl::unexpected(text.error());
  return parse_fabric(*text, path);
}

}  // namespace sumac
