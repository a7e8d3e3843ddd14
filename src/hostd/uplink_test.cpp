// Tests that sharpd's stream to the manager breaks and is opened again, in virtual time.
#include "hostd/uplink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::hostd {
namespace {

using control::v1::HostDown;
using testing::HasSubstr;

template <class T>
std::vector<T> only(const UplinkActions& actions) {
  std::vector<T> found;
  for (const auto& action : actions)
    if (const auto* one = std::get_if<T>(&action)) found.push_back(*one);
  return found;
}

struct Line {
  Uplink uplink{{.host = "h1", .manager = "am:1", .life = 5}};
  Time now = at(Seconds(1));

  control::v1::JobBegin request(std::uint64_t job_id) {
    control::v1::JobBegin begin;
    begin.set_job_id(job_id);
    return begin;
  }
  UplinkActions up(std::vector<Ticket> gone = {}) {
    HostDown down;
    down.mutable_registered()->set_lease_ms(8000);
    down.mutable_registered()->set_renew_ms(2000);
    for (const auto ticket : gone) down.mutable_registered()->add_gone(ticket);
    return uplink.heard(down, now);
  }
  UplinkActions grant(Ticket ticket) {
    HostDown down;
    down.mutable_granted()->set_ticket(ticket);
    return uplink.heard(down, now);
  }
  UplinkActions lost(Errc code = Errc::lost) { return uplink.stream_over(Error{code, "connection refused"}, now); }
  /// Connects, and holds the job with ticket 1.
  void hold() {
    uplink.tick(now);
    up();
    uplink.begin(1, request(7), now);
    ASSERT_EQ(only<Answer>(grant(1)).size(), 1u);
  }
  UplinkActions pass(Duration time) {
    UplinkActions all;
    for (const Time end = now + time; now < end;) {
      now = std::min(end, std::max(now + Millis(1), uplink.next_deadline()));
      for (auto& action : uplink.tick(now)) all.push_back(std::move(action));
    }
    return all;
  }
};

TEST(Uplink, tells_the_jobs_ranks_here_of_a_death_elsewhere) {
  Line line;
  line.uplink.tick(line.now);
  line.up();
  HostDown down;
  down.mutable_rank_died()->set_world_rank(3);
  const auto told = only<TellMembers>(line.uplink.heard(down, line.now));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].word.world_rank(), 3u);
}

TEST(Uplink, keeps_deaths_here_and_elsewhere_for_ranks_that_come_later) {
  Line line;
  line.uplink.tick(line.now);
  line.up();
  HostDown down;
  down.mutable_rank_died()->set_job_id(7);
  down.mutable_rank_died()->set_world_rank(3);
  EXPECT_EQ(only<TellMembers>(line.uplink.heard(down, line.now)).size(), 1u);
  EXPECT_TRUE(line.uplink.heard(down, line.now).empty()) << "the manager repeats it when the stream is back";
  down.mutable_rank_died()->set_job_id(8);
  EXPECT_EQ(only<TellMembers>(line.uplink.heard(down, line.now)).size(), 1u);
  control::v1::RankDied here;
  here.set_job_id(7);
  here.set_world_rank(1);
  line.uplink.rank_died(here, line.now);
  std::vector<std::uint32_t> ranks;
  for (const auto& word : line.uplink.deaths_of(JobId{7})) ranks.push_back(word.world_rank());
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(1u, 3u));
}

TEST(Uplink, keeps_the_latest_trees_of_a_job_for_ranks_that_come_later) {
  Line line;
  line.uplink.tick(line.now);
  line.up();
  HostDown down;
  for (const std::uint32_t times : {1u, 2u}) {
    down.mutable_job_trees()->set_job_id(7);
    down.mutable_job_trees()->set_times_again(times);
    const auto told = only<TellTrees>(line.uplink.heard(down, line.now));
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].word.times_again(), times);
  }
  ASSERT_NE(line.uplink.trees_of(JobId{7}), nullptr);
  EXPECT_EQ(line.uplink.trees_of(JobId{7})->times_again(), 2u);
  EXPECT_EQ(line.uplink.trees_of(JobId{8}), nullptr);
  for (std::uint64_t id = 100; id < 400; ++id) {
    down.mutable_job_trees()->set_job_id(id);
    line.uplink.heard(down, line.now);
  }
  EXPECT_EQ(line.uplink.trees_of(JobId{7}), nullptr) << "jobs whose end nobody says must not fill the memory";
}

TEST(Uplink, other_trees_are_asked_for_while_the_manager_is_there) {
  Line line;
  EXPECT_TRUE(line.uplink.want_trees(JobId{7}, Secret{1}, 3).empty()) << "the rank asks again";
  line.uplink.tick(line.now);
  line.up();
  const auto sent = only<SendUp>(line.uplink.want_trees(JobId{7}, Secret{1}, 3));
  ASSERT_EQ(sent.size(), 1u);
  const auto& word = sent[0].message.trees_wanted();
  EXPECT_EQ(word.job_id(), 7u);
  EXPECT_EQ(word.job_key().size(), Secret{}.size());
  EXPECT_EQ(word.times_again(), 3u);
}

TEST(Uplink, registers_at_once_and_renews_what_it_holds_every_two_seconds) {
  Line line;
  const auto first = only<OpenStream>(line.uplink.tick(line.now));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].first.register_().life(), 5u);
  EXPECT_EQ(first[0].first.register_().jobs_size(), 0);
  line.up();
  EXPECT_TRUE(line.pass(Seconds(20)).empty()) << "who holds nothing says nothing";
  line.uplink.begin(1, line.request(7), line.now);
  line.grant(1);
  const auto renewed = only<SendUp>(line.pass(Seconds(8)));
  EXPECT_GE(renewed.size(), 4u);
  EXPECT_THAT(renewed[0].message.renew().tickets(), testing::ElementsAre(1u));
}

TEST(Uplink, what_a_former_process_held_is_named_at_once_and_renewed) {
  Line line;
  line.uplink.adopt(1'000'007, JobId{70});
  const auto first = only<OpenStream>(line.uplink.tick(line.now));
  ASSERT_EQ(first.size(), 1u);
  const auto& who = first[0].first.register_();
  EXPECT_EQ(who.life(), 5u);
  ASSERT_EQ(who.jobs_size(), 1);
  EXPECT_EQ(who.jobs(0).ticket(), 1'000'007u);
  EXPECT_EQ(who.jobs(0).job_id(), 70u);
  EXPECT_TRUE(who.jobs(0).granted());
  line.up();
  const auto renewed = only<SendUp>(line.pass(Seconds(2)));
  ASSERT_FALSE(renewed.empty());
  EXPECT_EQ(renewed[0].message.renew().tickets(0), 1'000'007u);
  const auto ends = only<SendUp>(line.uplink.end(1'000'007, line.now));
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].message.end().job_id(), 70u);
}

TEST(Uplink, says_each_reason_of_an_absence_once) {
  Line line;
  line.hold();
  const auto notes = [&](const char* why) {
    return only<Note>(line.uplink.stream_over(Error{Errc::lost, why}, line.now)).size();
  };
  EXPECT_EQ(notes("Cancelling all calls"), 1u);
  EXPECT_EQ(notes("Cancelling all calls"), 0u);
  EXPECT_EQ(notes("TLS: it rejects the certificate"), 1u) << "a reason that changed is news";
  EXPECT_EQ(notes("Cancelling all calls"), 0u) << "reasons that take turns are no news";
  std::size_t said = 0;
  for (int i = 0; i < 1000; ++i) said += notes(fmt::format("reason {}", i).c_str());
  EXPECT_LE(said, 16u) << "nor are those that never come twice";
  line.pass(Seconds(1));
  line.up();
  EXPECT_EQ(notes("Cancelling all calls"), 1u) << "the next absence";
}

TEST(Uplink, says_that_the_fabric_lacks_its_host_and_does_not_call_itself_registered) {
  Line line;
  line.uplink.tick(line.now);
  line.up();
  EXPECT_TRUE(line.uplink.registered());
  HostDown down;
  down.mutable_place()->set_in_fabric(false);
  const auto said = only<Note>(line.uplink.heard(down, line.now));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].warn);
  EXPECT_EQ(said[0].text, "the fabric has no host h1: add it to sharp_am's fabric file, or give --host NAME");
  EXPECT_FALSE(line.uplink.registered());
  down.mutable_place()->set_in_fabric(true);
  EXPECT_EQ(only<Note>(line.uplink.heard(down, line.now)).size(), 1u);
  EXPECT_TRUE(line.uplink.registered());
}

TEST(Uplink, a_held_job_outlives_the_stream_and_is_named_when_it_comes_back) {
  Line line;
  line.hold();
  EXPECT_TRUE(only<Answer>(line.lost()).empty()) << "nobody is told that anything is over";
  const auto again = only<OpenStream>(line.uplink.tick(line.now));
  ASSERT_EQ(again.size(), 1u) << "without waiting: it may be back already";
  ASSERT_EQ(again[0].first.register_().jobs_size(), 1);
  EXPECT_EQ(again[0].first.register_().jobs(0).job_id(), 7u);
  EXPECT_TRUE(again[0].first.register_().jobs(0).granted());
  line.lost();
  EXPECT_EQ(only<OpenStream>(line.pass(Seconds(2))).size(), 1u) << "opening: one attempt at a time";
  EXPECT_TRUE(only<Answer>(line.up()).empty());
}

TEST(Uplink, a_begin_without_answer_is_asked_again_with_its_ticket) {
  Line line;
  line.uplink.tick(line.now);
  line.up();
  EXPECT_EQ(only<SendUp>(line.uplink.begin(1, line.request(7), line.now)).size(), 1u);
  line.lost();
  const auto again = only<OpenStream>(line.uplink.tick(line.now));
  EXPECT_FALSE(again[0].first.register_().jobs(0).granted());
  const auto asked = only<SendUp>(line.up());
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].message.begin().ticket(), 1u);
  EXPECT_EQ(only<Answer>(line.grant(1)).size(), 1u);
  EXPECT_TRUE(only<Answer>(line.grant(1)).empty()) << "an answer that comes twice counts once";
}

TEST(Uplink, without_any_manager_a_begin_is_refused_with_the_first_failure) {
  Line line;
  line.uplink.tick(line.now);
  line.uplink.begin(1, line.request(7), line.now);
  const auto answers = only<Answer>(line.lost());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].why.code, Errc::lost);
  EXPECT_THAT(answers[0].why.context, HasSubstr("connection refused"));
  EXPECT_EQ(only<OpenStream>(line.uplink.begin(2, line.request(8), line.now)).size(), 1u) << "asks now, not in a while";
}

TEST(Uplink, a_begin_waits_for_a_manager_that_restarts_but_not_for_ever) {
  Line line;
  line.hold();
  line.lost();
  line.uplink.begin(2, line.request(8), line.now);
  EXPECT_TRUE(only<Answer>(line.lost()).empty());
  line.pass(Seconds(4));
  EXPECT_TRUE(only<Answer>(line.lost()).empty()) << "4 s: a restart may take that";
  line.pass(Seconds(2));
  const auto answers = only<Answer>(line.lost());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].ticket, 2u);
}

TEST(Uplink, a_manager_that_takes_a_begin_and_says_nothing_is_given_up) {
  Line line;
  line.uplink.tick(line.now);
  line.uplink.begin(1, line.request(7), line.now);
  const auto answers = only<Answer>(line.pass(Seconds(15)));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].why.code, Errc::timeout);
  EXPECT_THAT(answers[0].why.context, HasSubstr("has not answered for 15000 ms"));
}

TEST(Uplink, an_end_is_answered_at_once_while_the_manager_is_away_and_told_by_silence) {
  Line line;
  line.hold();
  line.lost();
  const auto answers = only<Answer>(line.uplink.end(1, line.now));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].down.has_ended());
  EXPECT_EQ(only<OpenStream>(line.uplink.tick(line.now))[0].first.register_().jobs_size(), 0);
}

TEST(Uplink, an_owner_that_dies_while_the_stream_is_made_is_told_as_soon_as_it_stands) {
  Line line;
  line.hold();
  line.lost();
  EXPECT_EQ(only<OpenStream>(line.uplink.tick(line.now))[0].first.register_().jobs_size(), 1);
  EXPECT_TRUE(line.uplink.drop(1, "died", line.now).empty());
  const auto said = only<SendUp>(line.up());
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].message.end().job_id(), 7u);
}

TEST(Uplink, a_job_that_the_manager_does_not_know_any_more_is_over) {
  Line line;
  line.hold();
  line.lost();
  line.uplink.tick(line.now);
  const auto answers = only<Answer>(line.up({1}));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].lost);
  EXPECT_EQ(line.uplink.jobs(), 0u);
}

TEST(Uplink, a_manager_of_another_version_refuses_and_nobody_waits_for_it) {
  Line line;
  line.hold();
  line.uplink.begin(2, line.request(8), line.now);
  const auto answers = only<Answer>(line.lost(Errc::unsupported));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].ticket, 2u);
  EXPECT_EQ(answers[0].why.code, Errc::unsupported);
}

control::v1::RankDied death(std::uint64_t job_id, std::uint32_t rank) {
  control::v1::RankDied word;
  word.set_job_id(job_id);
  word.set_world_rank(rank);
  return word;
}

TEST(Uplink, the_latest_deaths_have_pages_and_no_users_push_out_anothers) {
  Line line;
  line.hold();
  const auto die = [&](std::uint32_t uid, const char* page) {
    auto word = death(7, 3);
    word.set_uid(uid);
    line.uplink.rank_died(word, line.now, page);
  };
  const auto pages_of = [&](std::uint32_t uid) {
    return std::ranges::count_if(line.uplink.deaths(),
                                 [&](const auto& one) { return one.word.uid() == uid && !one.page.empty(); });
  };
  die(1, "mine");
  for (int i = 0; i < 100; ++i) die(2, "other");
  EXPECT_EQ(pages_of(1), 1);
  EXPECT_EQ(pages_of(2), 16);
  EXPECT_FALSE(line.uplink.deaths().back().page.empty()) << "the latest ones";
  for (std::uint32_t uid = 3; uid < 70; ++uid) die(uid, "another");
  EXPECT_EQ(pages_of(1), 0) << "64 later ones";
  die(1, "");
  EXPECT_EQ(pages_of(69), 1);
}

TEST(Uplink, a_death_is_told_at_once_and_again_to_a_manager_that_was_away) {
  Line line;
  line.hold();
  const auto told = only<SendUp>(line.uplink.rank_died(death(7, 3), line.now));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].message.rank_died().world_rank(), 3u);
  line.lost();
  EXPECT_TRUE(line.uplink.rank_died(death(7, 4), line.now).empty()) << "there is nobody to tell";
  line.uplink.drop(1, "its owner died", line.now);
  line.pass(Seconds(1));
  const auto again = only<SendUp>(line.up());
  ASSERT_EQ(again.size(), 2u) << "the first one may have been lost with the stream";
  EXPECT_EQ(again[0].message.rank_died().world_rank(), 3u);
  EXPECT_EQ(again[1].message.rank_died().world_rank(), 4u);
  line.lost();
  line.now += Seconds(40);
  line.uplink.tick(line.now);
  EXPECT_TRUE(only<SendUp>(line.up()).empty()) << "that is long ago";
}

TEST(Uplink, where_a_jobs_daemons_are_is_asked_once_and_again_only_without_an_answer) {
  Line line;
  const JobId job{7};
  const Secret key{1}, wrong{2};
  const auto asked = [](const UplinkActions& actions) {
    std::vector<std::string> keys;
    for (const auto& up : only<SendUp>(actions))
      if (up.message.has_job_daemons()) keys.push_back(up.message.job_daemons().job_key());
    return keys;
  };
  const std::string right(reinterpret_cast<const char*>(key.data()), key.size());
  line.uplink.tick(line.now);
  EXPECT_TRUE(asked(line.uplink.joined(job, wrong)).empty()) << "no manager is there";
  EXPECT_TRUE(asked(line.uplink.joined(job, key)).empty());
  EXPECT_EQ(asked(line.up()), std::vector{right}) << "the last key counts";
  EXPECT_TRUE(asked(line.uplink.joined(job, key)).empty()) << "asked already";
  EXPECT_EQ(line.uplink.daemons_of(job), nullptr);
  HostDown down;
  down.mutable_job_daemons()->set_job_id(7);
  down.mutable_job_daemons()->add_daemons()->set_name("h1");
  line.uplink.heard(down, line.now);
  ASSERT_NE(line.uplink.daemons_of(job), nullptr);
  EXPECT_EQ(line.uplink.daemons_of(job)->at(0).name(), "h1");
  EXPECT_TRUE(asked(line.uplink.joined(job, wrong)).empty()) << "answered already";
  line.lost();
  EXPECT_NE(line.uplink.daemons_of(job), nullptr) << "they are known while the manager is dead";
  line.uplink.tick(line.now);
  EXPECT_TRUE(asked(line.up()).empty());
  for (int rank = 0; rank < 4; ++rank) line.uplink.left(job);
  EXPECT_EQ(line.uplink.daemons_of(job), nullptr) << "its last rank has gone";
  line.uplink.heard(down, line.now);
  EXPECT_EQ(line.uplink.daemons_of(job), nullptr);
}

TEST(Uplink, each_manager_learns_where_this_sharpd_is_inspected) {
  Line line;
  const auto told = [](const UplinkActions& actions) {
    std::string address;
    for (const auto& up : only<SendUp>(actions))
      if (up.message.has_inspectable()) address += up.message.inspectable().address();
    return address;
  };
  line.uplink.tick(line.now);
  EXPECT_EQ(told(line.up()), "");
  EXPECT_EQ(told(line.uplink.inspectable("10.0.0.1:5")), "10.0.0.1:5");
  line.lost();
  line.uplink.tick(line.now);
  EXPECT_EQ(told(line.up()), "10.0.0.1:5");
}

}  // namespace
}  // namespace sumac::hostd
