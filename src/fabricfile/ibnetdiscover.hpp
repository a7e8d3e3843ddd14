#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac {

/// A fabric from what `ibnetdiscover` printed (without options). Switches are named by their node id, "S-" and 16 hex
/// digits; a host by the first word of its description, its adapters and ports are its rails, ordered by device and port;
/// each CA described as an aggregation node is a node "an-" and 16 hex digits at its switch. Links have the data rate of
/// their width and speed. Errors begin with "NAME:LINE: ".
Result<topo::Fabric> parse_ibnetdiscover(std::string_view text, std::string_view name);

/// Whether the first line that says something is one of ibnetdiscover's, so that one option can name either kind of file.
bool looks_like_ibnetdiscover(std::string_view text);

/// A list of GUIDs, one a line, hexadecimal with or without 0x; '#' begins a comment. For root_guids_file and the like.
struct ListedGuid {
  std::uint64_t guid = 0;
  std::uint32_t line = 0;
};
Result<std::vector<ListedGuid>> parse_guids(std::string_view text, std::string_view name);
Result<std::vector<ListedGuid>> load_guids(const std::string& path);

/// Roots may only be where the file says: each GUID is that of a switch or of an aggregation node.
Result<> use_root_guids(topo::Fabric& fabric, const std::string& path);

/// Hosts whose port has one of these GUIDs get no rank (ignore_host_guids_file).
Result<> ignore_host_guids(topo::Fabric& fabric, const std::string& path);

}  // namespace sumac
