#include "recorder/recorder.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/fd.hpp"
#include "base/utf8.hpp"
#include "recorder/reader.hpp"

namespace sumac::recorder {
namespace {

/// Returns this process's page, as another process finds it.
std::optional<PageView> own_page() {
  const auto found = find_pages();
  const auto own =
      std::find_if(found.processes.begin(), found.processes.end(), [](auto& p) { return p.pid == ::getpid(); });
  return own == found.processes.end() ? std::nullopt : std::optional(own->page);
}

std::vector<std::byte> bytes_of(const Page& page) {
  std::vector<std::byte> bytes(sizeof page);
  std::memcpy(bytes.data(), static_cast<const void*>(&page), sizeof page);
  return bytes;
}

TEST(Recorder, APageIsThereWhileSomebodyUsesIt) {
  EXPECT_FALSE(own_page());
  {
    const Track track("a", draw_id(), 0, 2);
    EXPECT_TRUE(own_page());
    set_job(77, 3, 4);
  }
  auto page = own_page();
  ASSERT_TRUE(page) << "the job keeps it";
  EXPECT_EQ(page->job, 77u);
  EXPECT_EQ(page->world_rank, 3);
  EXPECT_EQ(page->world_size, 4);
  EXPECT_TRUE(page->tracks.empty());
  forget_job();
  EXPECT_FALSE(own_page());
}

TEST(Recorder, OperationsAreCountedByTheirWay) {
  Ways().count(true);  // Nobody asked for it.
  EXPECT_FALSE(own_page());
  Ways ways = Ways::of_this_process();
  for (int i = 0; i < 5; ++i) ways.count(i != 2);
  const auto page = own_page();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->on_tree, 4u);
  EXPECT_EQ(page->among_members, 1u);
}

TEST(Recorder, WithoutAJobTheFirstCommunicatorIsIt) {
  const Track first("first", 12, 1, 2), second("second", 13, 0, 2);
  const auto page = own_page();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->job, 12u);
  EXPECT_EQ(page->world_rank, 1);
  ASSERT_EQ(page->tracks.size(), 2u);
  EXPECT_EQ(page->tracks[1].name, "second");
  EXPECT_EQ(page->tracks[1].id, 13u);
}

TEST(Recorder, OperationsAreCountedAndTheNewestAreKept) {
  const Track track("a", 1, 0, 2);
  for (std::uint32_t i = 1; i <= 40; ++i) {
    begin(*track.memory(), i % 3, i);
    if (i < 40) end(*track.memory());
  }
  auto view = own_page()->tracks.at(0);
  EXPECT_EQ(view.begun, 40u);
  EXPECT_EQ(view.ended, 39u);
  EXPECT_TRUE(view.is_inside());
  ASSERT_EQ(view.newest.size(), kEntries);
  for (std::size_t i = 0; i < kEntries; ++i) {
    EXPECT_EQ(view.newest[i].number, 40 - i);
    EXPECT_EQ(view.newest[i].bytes, 40 - i);
    EXPECT_EQ(view.newest[i].what, (40 - i) % 3);
  }
}

TEST(Recorder, WhatOtherSoftwareDoesIsOverWhenItReturnsOrTheNextOneBegins) {
  const Track track("a", 1, 0, 2);
  TrackMemory& memory = *track.memory();
  begin(memory, 1, 8);
  pass(memory);
  EXPECT_TRUE(own_page()->tracks.at(0).is_inside());
  EXPECT_EQ(own_page()->tracks.at(0).newest.at(0).what, 1 | kPassed);
  passed(memory);
  EXPECT_FALSE(own_page()->tracks.at(0).is_inside());
  begin(memory, 2, 8);
  pass(memory);  // This one fails there.
  begin(memory, 3, 8);
  pass(memory);
  EXPECT_EQ(own_page()->tracks.at(0).ended, 2u);
  passed(memory);
  begin(memory, 4, 8);
  end(memory);
  EXPECT_FALSE(own_page()->tracks.at(0).is_inside());
}

TEST(Recorder, TheClockIsReadForRareOperationsAndSeldomInATightLoop) {
  const Track track("a", 1, 0, 2);
  TrackMemory& memory = *track.memory();
  begin(memory, 0, 8);
  EXPECT_TRUE(own_page()->tracks.at(0).is_exact) << "the first one";
  for (int i = 0; i < 1000; ++i) begin(memory, 0, 8);
  // The loop may have been interrupted for a millisecond: then the clock is read more often for a moment.
  EXPECT_GT(memory.every, 1u);
  const auto loose = own_page()->tracks.at(0);
  waits(memory, loose.since_ns + 5'000'000);
  const auto waiting = own_page()->tracks.at(0);
  EXPECT_TRUE(waiting.is_exact);
  EXPECT_EQ(waiting.since_ns, loose.is_exact ? loose.since_ns : loose.since_ns + 5'000'000);
  begin(memory, 0, 8);
  EXPECT_TRUE(own_page()->tracks.at(0).is_exact) << "the one behind a long wait";
}

TEST(Recorder, AnOperationThatWaitsBeforeItBeginsIsTheNewestOne) {
  const Track track("a", 1, 0, 2);
  TrackMemory& memory = *track.memory();
  begin(memory, 1, 8);
  end(memory);
  expect(memory, 3, 4096);
  const auto waiting = own_page()->tracks.at(0);
  EXPECT_TRUE(waiting.is_inside());
  EXPECT_EQ(waiting.begun, 2u);
  EXPECT_EQ(waiting.newest.at(0).bytes, 4096u);
  begin(memory, 3, 4096);
  const auto begun = own_page()->tracks.at(0);
  EXPECT_EQ(begun.begun, 2u);
  EXPECT_EQ(begun.newest.size(), 2u);
}

TEST(Recorder, MissingRanksBelongToTheNewestOperation) {
  const Track track("a", 1, 0, 4);
  begin(*track.memory(), 1, 8);
  const int ranks[] = {2, 3, 9};
  misses(*track.memory(), ranks, 3);
  EXPECT_EQ(own_page()->tracks.at(0).missing, (std::vector<int>{2, 3})) << "9 is no rank of it";
  begin(*track.memory(), 1, 8);
  EXPECT_TRUE(own_page()->tracks.at(0).missing.empty());
}

TEST(Recorder, ManyCommunicatorsGoOnWithoutAPlaceInThePage) {
  std::vector<Track> tracks;
  for (std::size_t i = 0; i < kTracksMax + 3; ++i) tracks.emplace_back("many", i + 1, 0, 2);
  begin(*tracks.back().memory(), 1, 8);
  auto page = own_page();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->tracks.size(), kTracksMax);
  EXPECT_EQ(page->unlisted, 3u);
  tracks.erase(tracks.begin());
  const Track again("again", 99, 1, 2);
  page = own_page();
  EXPECT_EQ(page->tracks.front().name, "again");
  EXPECT_EQ(page->tracks.front().begun, 0u);
}

TEST(Recorder, AForkedChildHasAPageOfItsOwn) {
  const Track parents("parent", 1, 0, 2);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool none = !own_page();
    const Track own("child", 2, 1, 2);
    const auto page = own_page();
    ::_exit(none && page && page->tracks.size() == 1 && page->tracks[0].name == "child" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the parent's page is open in the child, and not the child's";
  EXPECT_EQ(own_page()->tracks.at(0).name, "parent");
}

TEST(Recorder, WhoseFilesMayNotGrowHasNoPage) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit small{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(1);
    const Track none("none", 1, 0, 2);
    begin(*none.memory(), 0, 8);
    ::_exit(own_page() ? 2 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// A stranger makes thousands, for which root's `sumac ps` would read gigabytes.
TEST(Recorder, AmongManyPagesOfAProcessFewAreLookedAt) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<UniqueFd> pages;
    Page strange{};
    strange.header.magic = kPageMagic;
    for (int i = 0; i < 20; ++i) {
      pages.emplace_back(::memfd_create(kMemfdName, MFD_CLOEXEC));
      if (::write(pages.back().get(), &strange, sizeof strange) != ssize_t{sizeof strange}) ::_exit(1);
    }
    const Track own("own", 1, 0, 2);
    if (own_page()) ::_exit(2);
    pages.resize(5);
    ::_exit(own_page() ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Recorder, APageIsCheckedBeforeItIsShown) {
  Page page{};
  EXPECT_FALSE(decode(bytes_of(page))) << "no magic";
  page.header.magic = kPageMagic;
  ASSERT_TRUE(decode(bytes_of(page)));
  TrackMemory& track = page.tracks[5];
  track.is_used = 1;
  track.size = 2;
  track.rank = 2;
  EXPECT_TRUE(decode(bytes_of(page))->tracks.empty()) << "no rank of it";
  track.rank = 1;
  track.begun = 2 * kStep;
  track.ended = 5 * kStep;
  track.missing_begun = 2 * kStep;
  track.missing_count = UINT32_MAX;
  track.name.fill('\n');
  const auto view = decode(bytes_of(page))->tracks.at(0);
  EXPECT_EQ(view.ended, 2u);
  EXPECT_EQ(view.missing.size(), kMissingMax);
  EXPECT_EQ(view.name, std::string(kNameBytes, '?'));
  track.name = {"a\xc2\x9b[2J\xe2\x80\xae\x9b"};
  const auto name = decode(bytes_of(page))->tracks.at(0).name;
  EXPECT_EQ(name, printable("a\xc2\x9b[2J\xe2\x80\xae\x9b")) << "C1 controls and a turn of the line";
  EXPECT_EQ(name.find('\x9b'), std::string::npos);
}

TEST(Recorder, APageThatIsHandedOverHasTheTracksInUse) {
  const int fd = share();
  ASSERT_GE(fd, 0);
  set_job(77, 3, 4);
  const Track first("first", 12, 1, 2);
  {
    const Track gone("gone", 14, 0, 2);
    const Track last("last", 13, 0, 2);
    begin(*last.memory(), 1, 8);
    const auto bytes = packed(fd);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->size(), sizeof(PageHeader) + 3 * sizeof(TrackMemory));
    const auto page = decode_packed(*bytes);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->job, 77u);
    ASSERT_EQ(page->tracks.size(), 3u);
    EXPECT_EQ(page->tracks[2].newest.at(0).bytes, 8u);
    for (const std::size_t left : {std::size_t{0}, sizeof(PageHeader) - 1, bytes->size() - 1})
      EXPECT_FALSE(decode_packed(std::string_view(*bytes).substr(0, left))) << left;
    EXPECT_FALSE(decode_packed(*bytes + std::string(sizeof(Page), '\0'))) << "more tracks than a page has";
  }
  EXPECT_EQ(packed(fd)->size(), sizeof(PageHeader) + sizeof(TrackMemory));
  forget_job();
}

TEST(Recorder, ADescriptorThatCouldLetItsReaderWaitIsNoPage) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  EXPECT_FALSE(packed(pipe[0])) << "a read would wait for ever";
  EXPECT_FALSE(packed(-1));
  const int memory = ::memfd_create("short", MFD_CLOEXEC);
  EXPECT_FALSE(packed(memory));
  ASSERT_EQ(::ftruncate(memory, sizeof(Page)), 0);
  EXPECT_FALSE(packed(memory)) << "zeros";
  for (const int fd : {pipe[0], pipe[1], memory}) ::close(fd);
}

/// It is constructed before the recorder's objects, and destroyed after them.
struct LastOfAll {
  bool makes = false;
  ~LastOfAll() {
    if (!makes) return;
    { const Track track("late", draw_id(), 0, 2); }
    set_job(1, 0, 2);
    ::_exit(share() >= 0 ? 42 : 1);
  }
};
__attribute__((init_priority(101))) LastOfAll last_of_all;

/// A thread may make a team while the process ends.
TEST(Recorder, ATrackMayBeMadeAtExit) {
  const pid_t child = ::fork();
  if (child == 0) {
    set_job(77, 3, 4);
    last_of_all.makes = true;
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42) << status;
}

}  // namespace
}  // namespace sumac::recorder
