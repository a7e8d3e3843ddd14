// Reads the list of GUIDs that root_guids_file names.
#include <algorithm>
#include <unordered_map>

#include "base/read_file.hpp"
#include "fabricfile/ibnetdiscover.hpp"
#include "fabricfile/line_cursor.hpp"

namespace sumac {

namespace {
constexpr std::size_t kGuidsMax = 1'048'576;
}

Result<std::vector<ListedGuid>> parse_guids(std::string_view text, std::string_view name) {
  std::vector<ListedGuid> guids;
  std::unordered_map<std::uint64_t, std::uint32_t> lines;
  std::uint32_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    LineCursor cursor(line);
    if (cursor.blanks().at_end()) continue;
    cursor.take("0x");
    const auto guid = cursor.number<std::uint64_t>(16);
    if (!guid || *guid == 0 || !cursor.at_end())
      return fail(Errc::invalid, "{}:{}: '{:.40}' is no GUID: write one a line, like 0xe41d2d030003e450", name, number,
                  line);
    if (const auto [first, fresh] = lines.emplace(*guid, number); !fresh)
      return fail(Errc::invalid, "{}:{}: the GUID {:#x} stands in line {} already: leave one of them out", name, number,
                  *guid, first->second);
    if (guids.size() == kGuidsMax) return fail(Errc::invalid, "{}: more than {} GUIDs", name, kGuidsMax);
    guids.push_back({*guid, number});
  }
  if (guids.empty()) return fail(Errc::invalid, "{}: no GUID in it: write one a line, like 0xe41d2d030003e450", name);
  return guids;
}

Result<std::vector<ListedGuid>> load_guids(const std::string& path) {
  auto text = read_file(path, "file of GUIDs");
  if (!text) return tl::unexpected(text.error());
  return parse_guids(*text, path);
}

Result<std::uint64_t> parse_port_guid(std::string_view text) {
  LineCursor cursor(text);
  cursor.take("0x");
  const auto guid = cursor.number<std::uint64_t>(16);
  if (!guid || !cursor.at_end())
    return fail(Errc::invalid, "'{:.60}' is no GUID: write one like 0xe41d2d030003e450, or 0x0 for any port", text);
  return *guid;
}

Result<> use_root_guids(topo::Fabric& fabric, const std::string& path) {
  auto guids = load_guids(path);
  if (!guids) return within("root_guids_file", guids.error());
  std::unordered_map<std::uint64_t, std::string> names;
  for (const auto& each : fabric.switches) names.emplace(each.guid, each.name);
  for (const auto& node : fabric.nodes) names.emplace(node.guid, node.name);
  std::vector<std::string> roots;
  for (const auto& [guid, line] : *guids) {
    const auto found = names.find(guid);
    if (found == names.end())
      return fail(
          Errc::not_found,
          "root_guids_file: {}:{}: fabric {} has no switch or aggregation node with the GUID {:#x}: mend it, or make "
          "the fabric file again",
          path, line, fabric.name, guid);
    roots.push_back(found->second);
  }
  const auto serves = [&](const topo::Node& node) {
    return std::any_of(roots.begin(), roots.end(),
                       [&](const std::string& root) { return root == node.name || root == node.place.at_switch; });
  };
  // The subnet manager uses the same list of root switches, so some of them may have no aggregation node, but not all.
  if (!fabric.nodes.empty() && std::none_of(fabric.nodes.begin(), fabric.nodes.end(), serves))
    return fail(Errc::not_found, "root_guids_file: {}: none of these {} switches has an aggregation node: name others",
                path, roots.size());
  fabric.roots = std::move(roots);
  return {};
}

}  // namespace sumac
