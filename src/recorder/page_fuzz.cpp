// Reads any bytes as the page of a process. What is accepted fits together.
#include <algorithm>
#include <cstring>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "recorder/reader.hpp"

using namespace sumac;
using fuzz::must;

SUMAC_FUZZ(recorder_page) {
  // A short file has the first tracks; the rest of a page is zero.
  std::vector<std::byte> bytes(sizeof(recorder::Page));
  std::memcpy(bytes.data(), data, std::min(size, bytes.size()));
  must(!recorder::decode({bytes.data(), bytes.size() - 1}), "half a page is none");
  if (const auto packed = recorder::decode_packed({reinterpret_cast<const char*>(data), size}))
    must((size - sizeof(recorder::PageHeader)) / sizeof(recorder::TrackMemory) >= packed->tracks.size(),
         "no more communicators than came");
  const auto page = recorder::decode(bytes);
  if (!page) return 0;
  must(page->tracks.size() <= recorder::kTracksMax, "no more communicators than a page has");
  for (const auto& track : page->tracks) {
    must(track.rank >= 0 && track.rank < track.size, "a rank of the communicator");
    must(track.ended <= track.begun, "nothing ends that has not begun");
    must(track.newest.size() <= recorder::kEntries + 1, "the newest operations");
    must(track.newest.empty() ? track.begun == 0 : track.newest.front().number == track.begun, "and the newest first");
    for (const int rank : track.missing) must(rank >= 0 && rank < track.size, "only its ranks are missing");
    must(
        std::all_of(track.name.begin(), track.name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20; }),
        "a terminal shows the name");
  }
  return 0;
}
