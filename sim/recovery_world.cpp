#include "sim/recovery_world.hpp"

#include <fmt/core.h>

#include <utility>

namespace sumac::sim {

using namespace proto::recovery;

std::vector<Operation> Case::script() const {
  std::vector<Operation> made;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const char kind = kinds[i];
    if (kind == 'a')
      made.push_back({Kind::all, 0});
    else if (++i < kinds.size())
      made.push_back({kind == 'b' ? Kind::from_one : Kind::to_one, static_cast<Rank>(kinds[i] - '0')});
  }
  return made;
}

RecoveryWorld::RecoveryWorld(const Case& plan)
    : size_(plan.members),
      pipelined_(plan.pipelined),
      zombies_(plan.zombies),
      gives_up_(plan.gives_up),
      script_(plan.script()),
      runs_(size_, true),
      declared_(size_),
      noticed_(size_),
      has_left_(size_),
      told_((size_ + 1) * size_),
      told_left_(size_ * size_),
      outcomes_(size_ * script_.size()),
      node_(Root::begun(size_, plan.window, 0)),
      links_((size_ + 1) * (size_ + 1)),
      trees_(plan.trees),
      deaths_(plan.deaths),
      alarms_(plan.alarms) {
  for (Rank each = 0; each < size_; ++each) members_.emplace_back(each, size_, plan.window);
}

void RecoveryWorld::collect(Rank from) {
  Member& member = members_[from];
  for (auto& each : member.take_sends()) {
    if (each.to == tree() ? !tree_lives_ : !runs_[each.to]) continue;
    link(from, each.to).push_back(std::move(each.message));
  }
  for (const auto& each : member.take_events())
    if (each.what == Member::Event::What::completed || each.what == Member::Event::What::failed)
      outcomes_[from * script_.size() + each.number] =
          each.what == Member::Event::What::completed ? Outcome::completed : Outcome::failed;
  (void)member.take_taken();
  if (member.broken() != nullptr && counts(from) && wrong_.empty())
    wrong_ = fmt::format("member {}: {}", from, member.broken());
}

void RecoveryWorld::collect_tree() {
  for (auto& each : node_.take_sends())
    if (runs_[each.to] && members_[each.to].epoch() == 0) link(tree(), each.to).push_back(std::move(each.message));
  if (node_.broken() != nullptr && wrong_.empty()) wrong_ = fmt::format("the tree: {}", node_.broken());
}

/// An early answer promises that the part is posted, not that the others agree.
static bool is_answered_early(Rank member, const Operation& operation) {
  return (operation.kind == Kind::from_one && operation.root == member) ||
         (operation.kind == Kind::to_one && operation.root != member);
}

void RecoveryWorld::check() {
  for (std::size_t number = 0; number < script_.size(); ++number) {
    bool completed = false, failed = false;
    for (Rank each = 0; each < size_; ++each) {
      if (!counts(each)) continue;
      const Outcome outcome = outcomes_[each * script_.size() + number];
      completed |= outcome == Outcome::completed && !is_answered_early(each, script_[number]);
      failed |= outcome == Outcome::failed;
    }
    if (completed && failed && wrong_.empty())
      wrong_ = fmt::format("one survivor completed number {}, another failed it", number);
  }
}

std::string RecoveryWorld::at_the_end() const {
  for (Rank each = 0; each < size_; ++each)
    if (counts(each) && !members_[each].is_gone()) return fmt::format("member {} waits for ever", each);
  return {};
}

std::string RecoveryWorld::apply(Step step) {
  const Rank a = step.a, b = step.b;
  switch (step.what) {
    case Step::What::hear: {
      const Message message = std::move(link(a, b).front());
      link(a, b).erase(link(a, b).begin());
      if (b != tree()) {
        if (a != tree() && !members_[b].is_gone() && wrong_.empty())
          if (const char* flaw = members_[b].flaw(a, message); flaw != nullptr)
            wrong_ = fmt::format("member {} hears of member {}: {}", b, a, flaw);
        members_[b].hear(a, message);
        collect(b);
        break;
      }
      if (const auto* turn = std::get_if<Turn>(&message.body)) (void)node_.turn(a, *turn);
      if (const auto* leaves = std::get_if<Leaves>(&message.body)) node_.leaves(a, leaves->end);
      collect_tree();
      break;
    }
    case Step::What::post:
      if (members_[a].posted() < script_.size()) {
        members_[a].post(script_[members_[a].posted()]);
      } else {
        has_left_[a] = true;
        members_[a].leave();
      }
      collect(a);
      break;
    case Step::What::tree_dies:
      --trees_;
      tree_lives_ = false;
      for (Rank each = 0; each < size_; ++each) clear(each, tree());
      break;
    case Step::What::notices:
      noticed_[a] = true;
      clear(tree(), a);
      members_[a].lost_tree();
      collect(a);
      break;
    case Step::What::link_breaks:
      --alarms_;
      clear(a, b);
      clear(b, a);
      if (b == tree()) {
        members_[a].lost_tree();
      } else {
        members_[a].lost_link(b);
        members_[b].lost_link(a);
        collect(b);
      }
      collect(a);
      break;
    case Step::What::gives_up:
      --deaths_;
      members_[a].give_up();
      collect(a);
      break;
    case Step::What::dies:
      --deaths_;
      runs_[a] = false;
      for (Rank each = 0; each <= size_; ++each) clear(each, a);
      break;
    case Step::What::declared:
      if (runs_[a]) --deaths_;
      declared_[a] = true;
      break;
    case Step::What::told:
      told_[a * size_ + b] = true;
      if (a == tree()) {
        node_.dead(b);
        collect_tree();
        break;
      }
      if (!zombies_) clear(b, a);
      members_[a].dead(b);
      collect(a);
      break;
    case Step::What::told_left:
      told_left_[a * size_ + b] = true;
      members_[a].departed(b);
      collect(a);
      break;
  }
  check();
  return wrong_;
}

std::string RecoveryWorld::describe(Step step) const {
  const auto name = [&](Rank rank) {
    return rank == tree() ? std::string("the tree") : fmt::format("member {}", rank);
  };
  switch (step.what) {
    case Step::What::hear: {
      static const char* const kBodies[] = {"join", "joined",   "turn",     "result", "closed", "condemned",
                                            "move", "expelled", "gives up", "leaves", "left"};
      const Message& message = link(step.a, step.b).front();
      std::string text = fmt::format("{} hears `{}` of {} in epoch {}", name(step.b), kBodies[message.body.index()],
                                     name(step.a), message.epoch);
      if (const auto* turn = std::get_if<Turn>(&message.body))
        text += fmt::format(": {} number {}",
                            turn->what == Turn::What::contributes ? "contributes"
                            : turn->what == Turn::What::supplies  ? "supplies"
                                                                  : "skips",
                            turn->number);
      if (const auto* result = std::get_if<Result>(&message.body))
        text += fmt::format(": number {}, closed {}", result->number, result->closed);
      if (const auto* join = std::get_if<Join>(&message.body))
        text +=
            fmt::format(": done {}, contributed {}{}", join->done, join->contributed, join->leaves ? ", leaves" : "");
      if (const auto* joined = std::get_if<Joined>(&message.body)) {
        text += fmt::format(": from number {}{}, holders", joined->low,
                            joined->verdict ? fmt::format(", verdict from {}", joined->verdict->first) : "");
        for (const Rank each : joined->holders) text += each == kNobody ? " none" : fmt::format(" {}", each);
      }
      return text;
    }
    case Step::What::post:
      return members_[step.a].posted() < script_.size()
                 ? fmt::format("member {} posts number {}", step.a, members_[step.a].posted())
                 : fmt::format("member {} wants to leave", step.a);
    case Step::What::tree_dies: return "the tree dies";
    case Step::What::notices: return fmt::format("member {} notices that the tree is lost", step.a);
    case Step::What::gives_up: return fmt::format("member {} gives up", step.a);
    case Step::What::dies: return fmt::format("member {} dies", step.a);
    case Step::What::declared: return fmt::format("member {} is declared dead", step.a);
    case Step::What::told: return fmt::format("{} is told that member {} is dead", name(step.a), step.b);
    case Step::What::told_left: return fmt::format("member {} is told that member {} has left", step.a, step.b);
    case Step::What::link_breaks: return fmt::format("the link of member {} and {} breaks", step.a, name(step.b));
  }
  return {};
}

namespace {

void append(std::vector<std::uint64_t>& words, const Message& message) {
  words.push_back(std::uint64_t{message.epoch} << 8 | message.body.index());
  if (const auto* join = std::get_if<Join>(&message.body)) append(words, *join);
  if (const auto* joined = std::get_if<Joined>(&message.body)) {
    words.push_back(joined->low);
    append(words, joined->verdict);
    words.insert(words.end(), joined->holders.begin(), joined->holders.end());
  }
  if (const auto* turn = std::get_if<Turn>(&message.body))
    words.insert(words.end(), {turn->number, static_cast<std::uint64_t>(turn->what)});
  if (const auto* result = std::get_if<Result>(&message.body))
    words.insert(words.end(), {result->number, result->closed});
  if (const auto* closed = std::get_if<Closed>(&message.body)) words.push_back(closed->closed);
  if (const auto* condemned = std::get_if<Condemned>(&message.body)) append(words, condemned->verdict);
}

void append(std::vector<std::uint64_t>& words, const std::vector<bool>& flags) {
  std::uint64_t bits = 1;
  for (const bool each : flags) bits = bits << 1 | static_cast<std::uint64_t>(each);
  words.push_back(bits);
}

}  // namespace

std::uint64_t RecoveryWorld::hash() const {
  static std::vector<std::uint64_t> words;
  words.clear();
  for (Rank each = 0; each < size_; ++each)
    if (runs_[each]) members_[each].append_state(words);
  for (const auto* each : {&runs_, &declared_, &noticed_, &has_left_, &told_, &told_left_}) append(words, *each);
  for (const Outcome each : outcomes_) words.push_back(static_cast<std::uint64_t>(each));
  words.push_back(static_cast<std::uint64_t>(tree_lives_));
  if (tree_lives_) node_.append_state(words);
  words.insert(words.end(), {static_cast<std::uint64_t>(trees_), static_cast<std::uint64_t>(deaths_),
                             static_cast<std::uint64_t>(alarms_)});
  for (const auto& each : links_) {
    words.push_back(each.size());
    for (const Message& message : each) append(words, message);
  }
  std::uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
    hash *= 0xc4ceb9fe1a85ec53ull;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;  // 0 is a free place of the table.
}

}  // namespace sumac::sim
