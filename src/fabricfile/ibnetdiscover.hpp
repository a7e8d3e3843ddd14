#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac {

/// Makes a fabric from the output of `ibnetdiscover` (without options). A switch is named by its node id, "S-" and 16
/// hex digits. A host is named by the first word of its description; its adapters and ports are its rails, ordered by
/// device and port. Each CA described as an aggregation node becomes a node "an-" and 16 hex digits at its switch.
/// Links have the data rate of their width and speed. Errors begin with "NAME:LINE: ".
Result<topo::Fabric> parse_ibnetdiscover(std::string_view text, std::string_view name);

/// True if the first line with content is one of ibnetdiscover's, so that one option can name either kind of file.
bool looks_like_ibnetdiscover(std::string_view text);

/// An entry of a list of GUIDs (root_guids_file): one per line, hexadecimal with or without 0x; '#' begins
/// a comment.
struct ListedGuid {
  std::uint64_t guid = 0;
  std::uint32_t line = 0;
};
Result<std::vector<ListedGuid>> parse_guids(std::string_view text, std::string_view name);
Result<std::vector<ListedGuid>> load_guids(const std::string& path);

/// Reads the GUID of a port, hexadecimal with or without 0x; 0 means any port.
Result<std::uint64_t> parse_port_guid(std::string_view text);

/// Allows tree roots only where the file lists them: each GUID belongs to a switch or to an aggregation node.
Result<> use_root_guids(topo::Fabric& fabric, const std::string& path);

}  // namespace sumac
