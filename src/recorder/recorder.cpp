#include "recorder/recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/c_text.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/shared_file.hpp"

namespace sumac::recorder {

namespace {

constexpr std::uint32_t kStampEveryMax = 64;
constexpr std::int64_t kRarelyNs = 1'000'000;

std::int64_t realtime_ns() noexcept {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::int64_t monotonic_ns() noexcept { return monotonic_now().time_since_epoch().count(); }

void open_track(TrackMemory& track, std::string_view name, std::uint64_t id, int rank, int size) noexcept {
  track = TrackMemory{.until = 1, .every = 1};
  track.id = id;
  track.rank = rank;
  track.size = size;
  copy_text(name, track.name.data(), track.name.size());
  track.is_used = 1;
}

}  // namespace

/// The page of this process, while somebody uses it.
class Recorder {
 public:
  Recorder() noexcept {
    pid_ = ::getpid();
    fd_ = UniqueFd(::memfd_create(kMemfdName, MFD_CLOEXEC));
    if (!fd_ || ::fchmod(fd_.get(), S_IRUSR | S_IWUSR) != 0 ||
        size_shared(fd_.get(), sizeof(Page), Pages::when_touched) != 0)
      return;
    void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) return;
    page_ = static_cast<Page*>(memory);  // The kernel has filled it with zeros.
    page_->header.pid = pid_;
    page_->header.world_rank = -1;
    page_->header.since_ns = realtime_ns();
    page_->header.magic = kPageMagic;
  }
  ~Recorder() {
    if (page_ != nullptr) ::munmap(page_, sizeof(Page));
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool is_mine() const noexcept { return pid_ == ::getpid(); }

  void set_job(std::uint64_t job, int world_rank, int world_size) noexcept {
    if (page_ == nullptr) return;
    page_->header.job = job;
    page_->header.world_rank = world_rank;
    page_->header.world_size = world_size;
  }
  PageHeader* header() const noexcept { return page_ == nullptr ? nullptr : &page_->header; }
  int fd() const noexcept { return page_ == nullptr ? -1 : fd_.get(); }
  bool has_job() const noexcept { return page_ == nullptr || page_->header.job != 0; }

  TrackMemory* take() noexcept {
    if (page_ == nullptr) return nullptr;
    const auto free = std::find_if(page_->tracks.begin(), page_->tracks.end(), [](auto& t) { return t.is_used == 0; });
    if (free == page_->tracks.end()) ++page_->header.unlisted;
    return free == page_->tracks.end() ? nullptr : &*free;
  }

 private:
  UniqueFd fd_;
  Page* page_ = nullptr;
  pid_t pid_ = 0;
};

namespace {

std::mutex lock;  ///< Guards what follows, the header and the list of tracks.

struct Known {
  std::weak_ptr<Recorder> current;
  std::shared_ptr<Recorder> of_job;  ///< Keeps the page between set_job() and forget_job().
};
/// It has no destructor: at exit() other threads may still make tracks.
alignas(Known) std::byte memory_of_known[sizeof(Known)];
Known& known = *new (memory_of_known) Known;

/// The page goes when the library is unloaded. Whoever asks for one later, at exit(), gets another.
struct AtTheEnd {
  ~AtTheEnd() {
    const std::lock_guard guard(lock);
    known.of_job.reset();
    known.current.reset();
  }
} at_the_end;

/// A forked child gets a page of its own, and leaves its parent's alone. Null: there is no memory.
std::shared_ptr<Recorder> own() noexcept {
  auto found = known.current.lock();
  if (found != nullptr && found->is_mine()) return found;
  if (known.of_job != nullptr && !known.of_job->is_mine()) known.of_job.reset();
  try {
    found = std::make_shared<Recorder>();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  known.current = found;
  return found;
}

}  // namespace

void set_job(std::uint64_t job, int world_rank, int world_size) noexcept {
  const std::lock_guard guard(lock);
  known.of_job = own();
  if (known.of_job != nullptr) known.of_job->set_job(job, world_rank, world_size);
}

void forget_job() noexcept {
  const std::lock_guard guard(lock);
  known.of_job.reset();
}

int share() noexcept {
  const std::lock_guard guard(lock);
  known.of_job = own();
  return known.of_job != nullptr ? known.of_job->fd() : -1;
}

Ways Ways::of_this_process() noexcept {
  const std::lock_guard guard(lock);
  Ways made;
  made.recorder_ = own();
  if (made.recorder_ != nullptr) made.header_ = made.recorder_->header();
  return made;
}

std::uint64_t draw_id() noexcept {
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id)
    id = static_cast<std::uint64_t>(monotonic_ns()) ^ static_cast<std::uint64_t>(::getpid()) << 40;
  return id >> 1 | 1;
}

Track::Track(std::string_view name, std::uint64_t id, int rank, int size) {
  const std::lock_guard guard(lock);
  recorder_ = own();
  if (recorder_ != nullptr) {
    if (!recorder_->has_job()) recorder_->set_job(id, rank, size);
    memory_ = recorder_->take();
  }
  if (memory_ == nullptr) {
    unseen_ = std::make_unique<TrackMemory>();
    memory_ = unseen_.get();
  }
  open_track(*memory_, name, id, rank, size);
}

Track::Track(Track&& other) noexcept
    : recorder_(std::move(other.recorder_)),
      unseen_(std::move(other.unseen_)),
      memory_(std::exchange(other.memory_, nullptr)) {}

Track& Track::operator=(Track&& other) noexcept {
  std::swap(recorder_, other.recorder_);
  std::swap(unseen_, other.unseen_);
  std::swap(memory_, other.memory_);
  return *this;
}

Track::~Track() {
  if (memory_ == nullptr) return;
  const std::lock_guard guard(lock);
  if (recorder_ == nullptr || recorder_->is_mine()) memory_->is_used = 0;
  recorder_.reset();
}

void stamp(TrackMemory& track) noexcept {
  const std::int64_t now = monotonic_ns();
  track.every = now - track.stamp_ns < kRarelyNs ? std::min(kStampEveryMax, track.every * 2) : 1;
  track.until = track.every;
  track.stamp_begun = track.begun;
  track.stamp_ns = now;
}

void pass(TrackMemory& track) noexcept {
  track.ring[static_cast<std::uint8_t>(track.begun - kStep) / kStep].what |= kPassed;
  track.passed = track.passed_begun;
  track.passed_begun += kStep;
}

void passed(TrackMemory& track) noexcept { track.passed = track.passed_begun; }

void expect(TrackMemory& track, std::uint32_t what, std::uint64_t bytes) noexcept {
  track.expected = {.bytes = bytes, .what = what};
  track.expected_ns = monotonic_ns();
  track.expected_begun = track.begun + kStep;
}

void waits(TrackMemory& track, std::int64_t now_ns) noexcept {
  track.until = 1;  // The next one is not part of a tight loop.
  if (std::exchange(track.wait_begun, track.begun) != track.begun) track.wait_ns = now_ns;
}

void misses(TrackMemory& track, const int* ranks, std::size_t count) noexcept {
  std::copy_n(ranks, std::min(count, kMissingMax), track.missing.begin());
  track.missing_count = static_cast<std::uint32_t>(std::min(count, kMissingMax));
  track.missing_begun = track.begun;
}

}  // namespace sumac::recorder
