#pragma once
// The thread that moves what was posted while the program computes: one in a process, started when something is posted
// for the first time. It sleeps while nothing is posted, and leaves a team alone while one of its callers waits. A program that
// posts to other hosts mostly posts more at once, and then waits: so the thread gives it some time for that, since each wake-up
// costs more than what it would move.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace sumac::python {

class Team;

class Worker {
 public:
  static Worker& own();
  /// Returns when the thread, if there is one, has left every team for good. Callers that wait still move theirs.
  static void park();

  /// Something was posted at this team: the thread moves it until nothing is left.
  void move(const std::shared_ptr<Team>& team);
  /// A caller of a team no longer waits.
  void wake();

 private:
  void loop();
  bool pass();
  std::shared_ptr<Team> only_team();
  bool is_wanted_at_once() const;
  void give_grace(std::unique_lock<std::mutex>& guard);

  std::mutex lock_;
  std::condition_variable changed_, parked_;
  std::vector<std::weak_ptr<Team>> teams_;
  bool is_started_ = false, has_news_ = false;
  bool is_to_park_ = false, is_parked_ = false;
  bool gives_grace_ = false;  ///< News of teams over hosts does not wake the thread.
};

/// The forks that this process and its ancestors have gone through: what was made before a fork does not work behind it.
unsigned forks() noexcept;

}  // namespace sumac::python
