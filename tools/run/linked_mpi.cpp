#include "tools/run/linked_mpi.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace sumac::tools {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::size_t kFilesMax = 2048;

/// Appends the folders of a list with colons; $ORIGIN is the folder of the file that names them.
void append(std::vector<std::string>& folders, std::string_view list, const std::string& origin) {
  while (!list.empty()) {
    const auto colon = list.find(':');
    std::string folder(list.substr(0, colon));
    for (const auto word : {"${ORIGIN}"sv, "$ORIGIN"sv})
      for (auto at = folder.find(word); at != std::string::npos; at = folder.find(word, at + origin.size()))
        folder.replace(at, word.size(), origin);
    folders.push_back(folder.empty() ? "." : folder);  // The loader takes an empty part as the current folder.
    if (colon == std::string_view::npos) return;
    list.remove_prefix(colon + 1);
    if (list.empty()) folders.emplace_back(".");
  }
}

/// The folders of ld.so.conf's files, a folder a line; `include` lines of that file name its folder ld.so.conf.d.
std::vector<std::string> configured_folders() {
  std::vector<std::string> files{"/etc/ld.so.conf"}, folders;
  std::error_code none;
  for (fs::directory_iterator at("/etc/ld.so.conf.d", none), end; !none && at != end; at.increment(none))
    if (at->path().extension() == ".conf") files.push_back(at->path().string());
  std::sort(files.begin() + 1, files.end());
  for (const auto& file : files) {
    std::ifstream text(file);
    for (std::string line; std::getline(text, line);)
      if (std::string folder; (std::istringstream(line) >> folder) && folder[0] == '/') folders.push_back(folder);
  }
  return folders;
}

const std::vector<std::string>& system_folders() {
  static const std::vector<std::string> kFolders = [] {
    auto folders = configured_folders();
    for (const auto usual :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
          "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
      folders.emplace_back(usual);
    return folders;
  }();
  return kFolders;
}

struct File {
  std::string path;
  Elf elf;
  std::vector<std::string> rpath;  ///< The folders of its loaders' DT_RPATH, nearest first.
};

/// Open MPI 1.10 named its library libmpi.so.12 too, and built it on libopen-pal.
bool is_old_open_mpi(const Elf& library) {
  return std::ranges::any_of(library.needed, [](const auto& name) { return name.starts_with("libopen-pal.so."); });
}

/// The standard ABI's library says nothing of its MPI, but lies beside the MPI's own.
std::optional<MpiAbi> provider_beside(const std::string& library) {
  const auto folder = fs::path(library).parent_path();
  std::error_code none;
  const bool open_mpi = fs::exists(folder / "libmpi.so.40", none), mpich = fs::exists(folder / "libmpi.so.12", none);
  if (open_mpi == mpich) return std::nullopt;
  return open_mpi ? MpiAbi::open_mpi : MpiAbi::mpich;
}

std::optional<File> find_needed(const File& by, const std::string& name, std::string_view ld_library_path) {
  const std::string origin = fs::path(by.path).parent_path().string();
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos)
    candidates.push_back(name);
  else
    for (const auto& folder : search_folders(by.elf, origin, by.rpath, ld_library_path))
      candidates.push_back(folder + "/" + name);
  for (const auto& candidate : candidates) {
    const auto bytes = open_elf(candidate);
    if (!bytes) continue;
    auto elf = read_elf(*bytes);
    // The loader passes over a library of another word size or machine, too.
    if (!elf || elf->is_64 != by.elf.is_64 || elf->machine != by.elf.machine) continue;
    File file{candidate, *std::move(elf), {}};
    if (!by.elf.rpath.empty()) append(file.rpath, by.elf.rpath, origin);
    file.rpath.insert(file.rpath.end(), by.rpath.begin(), by.rpath.end());
    return file;
  }
  return std::nullopt;
}

LinkedMpi linked_library(const std::string& name, const std::string& path, const Elf* elf) {
  LinkedMpi linked{name, "", mpi_library(name).value_or(std::nullopt), std::nullopt};
  std::error_code failed;
  if (!path.empty()) linked.path = fs::weakly_canonical(path, failed).string();
  if (elf != nullptr && linked.abi == MpiAbi::mpich && is_old_open_mpi(*elf)) linked.abi = std::nullopt;
  linked.provider = linked.abi == MpiAbi::standard ? provider_beside(linked.path) : linked.abi;
  return linked;
}

/// Calls visit(name, file if it was found) for each library that `path` needs, itself or through others, nearest first,
/// until one call returns true.
template <class Visit>
Result<> each_needed(const std::string& path, std::string_view ld_library_path, const Visit& visit) {
  const auto bytes = open_elf(path);
  if (!bytes) return tl::unexpected(bytes.error());
  auto elf = read_elf(*bytes);
  if (!elf) return within(path, elf.error());
  std::error_code failed;
  auto real = fs::canonical(path, failed);
  std::deque<File> next;
  next.push_back({failed ? path : real.string(), *std::move(elf), {}});
  std::set<std::string> seen;
  for (; !next.empty() && seen.size() < kFilesMax; next.pop_front()) {
    const File& file = next.front();
    for (const auto& name : file.elf.needed) {
      if (!seen.insert(name).second) continue;  // The loader, too, loads a name once.
      auto found = find_needed(file, name, ld_library_path);
      if (visit(name, found)) return {};
      if (found) next.push_back(*std::move(found));
    }
  }
  return {};
}

bool needs_one(const std::string& path, std::string_view ld_library_path,
               std::initializer_list<std::string_view> begins) {
  bool needs = false;
  const auto walked = each_needed(path, ld_library_path, [&](const std::string& name, const std::optional<File>&) {
    return needs = std::ranges::any_of(begins, [&](auto begin) { return name.starts_with(begin); });
  });
  return walked && needs;
}

constexpr auto kSanitizers = {"libasan.so"sv, "libtsan.so"sv,   "libubsan.so"sv,
                              "liblsan.so"sv, "libhwasan.so"sv, "libclang_rt."sv};

}  // namespace

Result<LinkedMpi> mpi_of_library(const std::string& path) {
  const auto bytes = open_elf(path);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto elf = read_elf(*bytes);
  if (!elf) return within(path, elf.error());
  if (!mpi_library(elf->soname)) return fail(Errc::not_found, "{}: no MPI library that is known", path);
  return linked_library(elf->soname, path, &*elf);
}

std::string_view name_of(MpiAbi abi) {
  switch (abi) {
    case MpiAbi::open_mpi: return "Open MPI";
    case MpiAbi::mpich: return "MPICH's ABI";
    case MpiAbi::standard: return "the standard ABI of MPI 5";
  }
  return "";
}

std::optional<std::optional<MpiAbi>> mpi_library(std::string_view name) {
  // Open MPI 3 to 5; MPICH 3.1 to 5, Intel MPI and MVAPICH; Debian's MPICH; the standard ABI of MPI 5.
  struct Row {
    std::string_view begins, version;
    std::optional<MpiAbi> abi;
  };
  constexpr Row kRows[] = {
      {"libmpi.so.", "40", MpiAbi::open_mpi},
      {"libmpi_mpifh.so.", "40", MpiAbi::open_mpi},
      {"libmpi_usempif08.so.", "40", MpiAbi::open_mpi},
      {"libmpi_usempi_ignore_tkr.so.", "40", MpiAbi::open_mpi},
      {"libmpi_cxx.so.", "40", MpiAbi::open_mpi},
      {"liboshmem.so.", "40", MpiAbi::open_mpi},
      {"libmpi.so.", "12", MpiAbi::mpich},
      {"libmpich.so.", "12", MpiAbi::mpich},
      {"libmpifort.so.", "12", MpiAbi::mpich},
      {"libmpichfort.so.", "12", MpiAbi::mpich},
      {"libmpicxx.so.", "12", MpiAbi::mpich},
      {"libmpichcxx.so.", "12", MpiAbi::mpich},
      {"libmpi_abi.so.", "0", MpiAbi::standard},
      {"libmpi_abi.so.", "1", MpiAbi::standard},
      {"libmpifort_abi.so.", "0", MpiAbi::standard},
      {"libmpifort_abi.so.", "1", MpiAbi::standard},
      {"libmpi.so.", "20", std::nullopt},
      {"libmpi.so.", "1", std::nullopt},
      {"libmpi.so.", "0", std::nullopt},
  };
  for (const auto& row : kRows)
    if (name.starts_with(row.begins) && name.substr(row.begins.size()) == row.version) return row.abi;
  return std::nullopt;
}

std::vector<std::string> search_folders(const Elf& elf, const std::string& origin,
                                        const std::vector<std::string>& inherited_rpath,
                                        std::string_view ld_library_path) {
  std::vector<std::string> folders;
  if (elf.runpath.empty()) {
    append(folders, elf.rpath, origin);
    folders.insert(folders.end(), inherited_rpath.begin(), inherited_rpath.end());
  }
  append(folders, ld_library_path, origin);
  append(folders, elf.runpath, origin);
  folders.insert(folders.end(), system_folders().begin(), system_folders().end());
  return folders;
}

Result<std::optional<LinkedMpi>> linked_mpi(const std::string& path, std::string_view ld_library_path) {
  std::optional<LinkedMpi> linked, by_name;  // A library of Fortran or C++ that was not found: its name tells the MPI.
  auto walked = each_needed(path, ld_library_path, [&](const std::string& name, const std::optional<File>& found) {
    const auto abi = mpi_library(name);
    const bool is_c =
        name.starts_with("libmpi.so.") || name.starts_with("libmpich.so.") || name.starts_with("libmpi_abi.so.");
    if (abi && is_c) linked = linked_library(name, found ? found->path : "", found ? &found->elf : nullptr);
    if (abi && !found && !by_name) by_name = linked_library(name, "", nullptr);
    return linked.has_value();
  });
  if (!walked) return tl::unexpected(walked.error());
  return linked ? linked : by_name;
}

bool needs_sharp_coll(const std::string& path, std::string_view ld_library_path) {
  return needs_one(path, ld_library_path, {"libsharp_coll.so"});
}

bool is_sanitizer_runtime(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(kSanitizers, [&](auto begin) { return name.starts_with(begin); });
}

bool needs_address_sanitizer(const std::string& path, std::string_view ld_library_path) {
  return needs_one(path, ld_library_path, {"libasan.so", "libclang_rt.asan"});
}

}  // namespace sumac::tools
