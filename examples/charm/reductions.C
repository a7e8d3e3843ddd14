// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of a chare array by Charm++ and by Sumac's tree (sumac/team.h), each result compared with the exact one.
// The elements of a PE contribute to its member of `Tree`, which then begins one nonblocking allreduce among the PEs;
// the scheduler goes on, and looks by a timed function whether it is done. README.md: how to build and run it.
#include <sumac/team.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>
#include "reductions.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Tree trees;

class Tree : public CBase_Tree {
 public:
  Tree() = default;
  void join() { ++elements_; }
  // Makes the team of all PEs. That blocks, so it has a thread of its own, and the scheduler goes on.
  void meet() {
    if (elements_ == 0) CkAbort("PE %d has no element: give at least as many elements as PEs\n", CkMyPe());
    opener_ = std::thread([this, pe = CkMyPe()] {
      sumac_team_params params{};
      params.struct_bytes = sizeof params, params.rank = pe, params.size = pes_;
      params.allgather = allgather, params.context = this;
      if (sumac_team_open(&params, &team_) != SUMAC_OK) std::fprintf(stderr, "%s\n", sumac_team_why(nullptr)), std::abort();
      is_open_ = true;
    });
    serve(this, 0);
  }
  void piece(int round, int from, int size, char* bytes) {
    const std::lock_guard<std::mutex> guard(lock_);
    pieces_[round][from].assign(bytes, bytes + size);
    changed_.notify_one();
  }
  // Adds an element's value; `target` gets the sum. An element has one reduction at a time.
  void add(double value, std::function<void(double)> target) {
    sum_ += value;
    targets_.push_back(std::move(target));
    if (static_cast<int>(targets_.size()) < elements_) return;
    in_ = sum_, sum_ = 0, begun_.swap(targets_);
    check(sumac_team_allreduce(team_, &in_, &out_, 1, SUMAC_FLOAT64, SUMAC_SUM, &request_));
    CcdCallFnAfter(look, this, 0);
  }

 private:
  void check(int status) const {
    if (status != SUMAC_OK) CkAbort("%s\n", sumac_team_why(team_));
  }
  static void look(void* self, double) {
    Tree& tree = *static_cast<Tree*>(self);
    const int status = sumac_team_test(tree.request_);
    if (status == SUMAC_IN_PROGRESS) return CcdCallFnAfter(look, self, 0), void();
    tree.check(status), tree.sum_of_all_ = tree.out_;
    std::vector<std::function<void(double)>> targets;
    targets.swap(tree.begun_);
    for (const auto& target : targets) target(tree.sum_of_all_);
  }
  // In the opener's thread: the scheduler sends its piece, and gets those of all PEs.
  static int allgather(void* self, const void* in, void* out, size_t bytes) {
    Tree& tree = *static_cast<Tree*>(self);
    std::unique_lock<std::mutex> guard(tree.lock_);
    tree.mine_.assign(static_cast<const char*>(in), static_cast<const char*>(in) + bytes);
    auto& pieces = tree.pieces_[tree.round_];
    tree.changed_.wait(guard, [&] { return static_cast<int>(pieces.size()) == tree.pes_; });
    for (const auto& piece : pieces) std::memcpy(static_cast<char*>(out) + piece.first * bytes, piece.second.data(), bytes);
    return ++tree.round_, 0;
  }
  static void serve(void* self, double) {
    Tree& tree = *static_cast<Tree*>(self);
    std::vector<char> mine;
    tree.lock_.lock(), mine.swap(tree.mine_), tree.lock_.unlock();
    if (!mine.empty()) trees.piece(tree.sent_++, CkMyPe(), static_cast<int>(mine.size()), mine.data());
    if (!tree.is_open_) return CcdCallFnAfter(serve, self, 1), void();
    tree.opener_.join();
    tree.contribute(CkCallback(CkReductionTarget(Main, met), mainProxy));
  }

  const int pes_ = CkNumPes();
  int elements_ = 0, round_ = 0, sent_ = 0;  // the opener's next round, and the scheduler's
  double sum_ = 0, in_ = 0, out_ = 0, sum_of_all_ = 0;
  std::vector<std::function<void(double)>> targets_, begun_;
  sumac_open_team_t* team_ = nullptr;
  sumac_team_request_t* request_ = nullptr;
  std::thread opener_;
  std::atomic<bool> is_open_{false};
  std::mutex lock_;  // guards mine_ and pieces_
  std::condition_variable changed_;
  std::vector<char> mine_;
  std::map<int, std::map<int, std::vector<char>>> pieces_;  // of each round, by PE
};

class Element : public CBase_Element {
 public:
  Element() {
    trees.ckLocalBranch()->join();
    contribute(CkCallback(CkReductionTarget(Tree, meet), trees));
  }
  void run(int steps) { steps_ = steps, began_ = CkWallTimer(), next(); }
  void by_charm(double sum) { got(sum); }

 private:
  // The first half of the steps by Charm++, the second by the tree.
  void next() {
    const double value = thisIndex + 1 + step_;
    if (step_ == steps_) half_ = CkWallTimer();
    const CkCallback done(CkReductionTarget(Element, by_charm), thisProxy);
    if (step_ < steps_) contribute(sizeof value, &value, CkReduction::sum_double, done);
    else if (step_ < 2 * steps_) trees.ckLocalBranch()->add(value, [this](double sum) { got(sum); });
    else {
      double numbers[] = {wrong_, (half_ - began_) / steps_ * 1e6, (CkWallTimer() - half_) / steps_ * 1e6};
      contribute(sizeof numbers, numbers, CkReduction::max_double, CkCallback(CkReductionTarget(Main, done), mainProxy));
    }
  }
  void got(double sum) {
    const double elements = 2 * CkNumPes();
    wrong_ += sum != elements * (elements + 1) / 2 + elements * step_;
    ++step_, next();
  }
  int steps_ = 0, step_ = 0;
  double wrong_ = 0, began_ = 0, half_ = 0;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    steps_ = arguments->argc > 1 ? atoi(arguments->argv[1]) : 200;
    delete arguments, mainProxy = thisProxy;
    trees = CProxy_Tree::ckNew();
    elements_ = CProxy_Element::ckNew(2 * CkNumPes());
  }
  void met() { elements_.run(steps_); }
  void done(int, double* numbers) {
    CkPrintf("%d PEs: %.0f us by Charm++, %.0f us by Sumac, %.0f wrong\n", CkNumPes(), numbers[1], numbers[2], numbers[0]);
    CkExit(numbers[0] == 0 ? 0 : 1);
  }

 private:
  int steps_ = 0;
  CProxy_Element elements_;
};

#include "reductions.def.h"
