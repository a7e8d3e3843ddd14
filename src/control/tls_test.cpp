#include "control/tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/control.grpc.pb.h"
#include "control/endpoint.hpp"
#include "control/test_pki.hpp"
#include "control/test_server.hpp"

namespace sumac::control {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Identity, is_read_as_it_is_written_and_nothing_else_is) {
  for (const auto role : {CertRole::manager, CertRole::node, CertRole::host, CertRole::admin}) {
    const Identity who{role, "an-leaf1.rack_7"};
    EXPECT_EQ(parse_uri(to_uri(who)).value(), who);
  }
  for (const auto* text : {"", "sumac://", "sumac://node", "sumac://node/", "sumac://root/x", "http://node/x",
                           "sumac://node/a/b", "sumac://node/a b", "sumac:/node/x", "SUMAC://node/x"})
    EXPECT_FALSE(parse_uri(text)) << text;
  EXPECT_TRUE(is_certificate_name(std::string(63, 'x')));
  EXPECT_FALSE(is_certificate_name(std::string(64, 'x')));
  EXPECT_FALSE(issue_certificate({}, {CertRole::node, "x,URI:sumac://admin/y"}, Validity::days(1)));
}

TEST(Identity, a_certificate_has_its_days_and_its_authority) {
  const TestPki pki, other;
  const Validity when{1'700'000'000, 1'800'000'000};
  const auto pair = issue_certificate(pki.authority, {CertRole::host, "a"}, when).value();
  const auto read = validity_of(pair.certificate).value();
  EXPECT_EQ(read.from, when.from);
  EXPECT_EQ(read.until, when.until);
  EXPECT_TRUE(check_issuer(pair.certificate, pki.authority.certificate)) << "though it may have ended";
  EXPECT_FALSE(check_issuer(pair.certificate, other.authority.certificate));
  for (const std::string& text : {std::string(), std::string("hello"), pair.key}) {
    EXPECT_FALSE(validity_of(text));
    EXPECT_FALSE(check_issuer(text, pki.authority.certificate));
    EXPECT_FALSE(check_issuer(pair.certificate, text));
  }
}

TEST(Identity, a_certificate_for_a_request_is_of_its_key_and_of_the_name_that_the_authority_gives) {
  const TestPki pki;
  const auto asked = make_request({CertRole::host, "b"}).value();
  const auto when = Validity::days(1);
  const auto certificate = certify(pki.authority, asked.request, {CertRole::node, "node-b"}, when);
  ASSERT_TRUE(certificate) << certificate.error().context;
  EXPECT_EQ(view_certificate(*certificate).value().who, "node node-b");
  const TlsFiles files{pki.path + "/ca.crt", pki.file("r.crt", *certificate), pki.file("r.key", asked.key)};
  const auto loaded = Tls::load(files, CertRole::node, "node-b");
  ASSERT_TRUE(loaded) << loaded.error().context;
  EXPECT_EQ((*loaded)->end(), when.until);
  EXPECT_FALSE(Tls::load(files, CertRole::host, "b"));

  const auto other = make_request({CertRole::host, "b"}).value();
  auto changed = asked.request;
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& text : {std::string(), std::string("hello"), asked.key, pki.authority.certificate, changed,
                                  asked.request.substr(0, asked.request.size() / 2)})
    EXPECT_FALSE(certify(pki.authority, text, {CertRole::host, "b"}, when)) << text;
  EXPECT_FALSE(certify(pki.authority, asked.request, {CertRole::host, "b,URI:sumac://admin/y"}, when));
  EXPECT_FALSE(make_request({CertRole::host, "b/c"}));
  EXPECT_FALSE(Tls::load({files.ca, files.cert, pki.file("o.key", other.key)}, CertRole::node, "node-b"));
}

TEST(Tls, files_that_can_not_be_used_are_told_at_the_start_with_the_remedy) {
  const TestPki pki, other;
  const auto node = pki.files(CertRole::node, "an-root"), manager = pki.files(CertRole::manager, "am");
  const auto text_of = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto now = std::time(nullptr);
  auto with = [&](auto change) {
    auto files = node;
    change(files);
    return files;
  };
  const struct {
    const char* name;
    TlsFiles files;
    std::vector<const char*> says;
  } rows[] = {
      {"no key", with([](auto& f) { f.key.clear(); }), {"--tls-key is missing", "together"}},
      {"no certificate", with([](auto& f) { f.cert.clear(); }), {"--tls-cert is missing"}},
      {"no authority", with([](auto& f) { f.ca.clear(); }), {"--tls-ca is missing"}},
      {"a file that is not there",
       with([](auto& f) { f.cert = "/nowhere/x.crt"; }),
       {"--tls-cert /nowhere/x.crt: there is no such file", "sumac pki"}},
      {"a directory", with([&](auto& f) { f.ca = pki.path; }), {"it is no file"}},
      {"a key that others can read",
       with([&](auto& f) { f.key = pki.file("open.key", text_of(node.key), 0644); }),
       {"others may read", "chmod 600"}},
      {"a key that is none", with([&](auto& f) { f.key = pki.file("x.key", "hello"); }), {"no private key in PEM"}},
      {"an empty certificate", with([&](auto& f) { f.cert = pki.file("x.crt", ""); }), {"no certificate in PEM"}},
      {"an authority that is none",
       with([&](auto& f) { f.ca = pki.file("x.ca", "hello"); }),
       {"--tls-ca", "no certificate in PEM"}},
      {"somebody else's key", with([&](auto& f) { f.key = manager.key; }), {"it is not the key of --tls-cert"}},
      {"another authority",
       with([&](auto& f) { f.ca = other.path + "/ca.crt"; }),
       {"it is not of the authority in", "from one `sumac pki` directory"}},
      {"a manager's certificate",
       manager,
       {"it is for manager am, this is node an-root", "sumac pki issue DIR node an-root"}},
      {"another node's", pki.files(CertRole::node, "an-leaf"), {"it is for node an-leaf, this is node an-root"}},
      {"expired",
       pki.files(CertRole::node, "an-root", {now - 7200, now - 3600}, "expired"),
       {"it expired on 20", "--renew"}},
      {"not yet valid", pki.files(CertRole::node, "an-root", {now + 3600, now + 7200}, "early"), {"clock right?"}},
      {"made where the clock is a day ahead",
       pki.files(CertRole::node, "an-root", {now + 86400, now + 10 * 86400}, "tomorrow"),
       {"it is valid from 20", "clock right?"}},
      {"still valid where the clock is a day behind, over here",
       pki.files(CertRole::node, "an-root", {now - 10 * 86400, now - 86400}, "yesterday"),
       {"it expired on 20"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto loaded = Tls::load(row.files, CertRole::node, "an-root");
    ASSERT_FALSE(loaded);
    for (const auto* words : row.says) EXPECT_THAT(loaded.error().context, HasSubstr(words));
    EXPECT_THAT(loaded.error().context, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(Tls::load({}, CertRole::node, "x").value(), nullptr) << "none given: clear text";
}

TEST(Tls, one_directory_has_the_files_of_many_by_role_and_name) {
  const TestPki pki, empty;
  std::filesystem::remove(empty.path + "/ca.crt");
  pki.files(CertRole::node, "an1");
  pki.files(CertRole::host, "an1");
  pki.files(CertRole::manager, "am");
  const TlsFiles here{{}, {}, {}, pki.path}, nothing{{}, {}, {}, empty.path};
  const auto who = [&](CertRole role, const char* name) {
    return describe((*Tls::load(here, role, name).value()).self());
  };
  EXPECT_EQ(who(CertRole::node, "an1"), "node an1");
  EXPECT_EQ(who(CertRole::host, "an1"), "host an1");
  EXPECT_EQ(who(CertRole::manager, ""), "manager am");

  auto both = here;
  both.ca = pki.path + "/ca.crt";
  const TestPki wrong;
  wrong.files(CertRole::host, "an1", Validity::days(1), "node-an1");
  const TestPki two;
  two.files(CertRole::manager, "a");
  two.files(CertRole::manager, "b");
  const TestPki open;
  const auto open_key = open.files(CertRole::node, "an1").key;
  ASSERT_EQ(::chmod(open_key.c_str(), 0644), 0);
  const struct {
    const char* name;
    TlsFiles files;
    CertRole role;
    const char* of;
    std::vector<const char*> says;
  } rows[] = {
      {"nobody of that name", here, CertRole::node, "an2", {"--tls-dir", "node-an2.crt: there is no such file"}},
      {"nothing in it", nothing, CertRole::node, "an1", {"ca.crt: there is no such file", "sumac pki"}},
      {"no manager in it",
       nothing,
       CertRole::manager,
       "",
       {"no manager-NAME.crt is there", "sumac pki issue DIR manager"}},
      {"two managers",
       {{}, {}, {}, two.path},
       CertRole::manager,
       "",
       {"2 certificates of role manager are there (a, b)"}},
      {"no directory", {{}, {}, {}, "/nowhere"}, CertRole::manager, "", {"--tls-dir /nowhere"}},
      {"beside single files", both, CertRole::node, "an1", {"leave --tls-ca"}},
      {"a certificate of another role under the name",
       {{}, {}, {}, wrong.path},
       CertRole::node,
       "an1",
       {"it is for host an1, this is node an1"}},
      {"a key that others can read", {{}, {}, {}, open.path}, CertRole::node, "an1", {"others may read", "chmod 600"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto loaded = Tls::load(row.files, row.role, row.of);
    ASSERT_FALSE(loaded);
    for (const auto* words : row.says) EXPECT_THAT(loaded.error().context, HasSubstr(words));
    EXPECT_THAT(loaded.error().context, Not(HasSubstr("\n")));
  }
}

TEST(Tls, an_expired_authority_is_told) {
  const auto now = std::time(nullptr);
  const TestPki pki({now - 7200, now - 60});
  const auto loaded = Tls::load(pki.files(CertRole::node, "an"), CertRole::node, "an");
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().context,
              AllOf(HasSubstr("--tls-ca"), HasSubstr("it expired on"), HasSubstr("sumac pki init")));
}

Result<Server> serve(const std::shared_ptr<Tls>& tls) {
  return Server::start("127.0.0.1:0", WhoService::make, {.tls = tls.get()});
}

TEST(Tls, each_side_knows_the_other_and_strangers_are_not_heard) {
  const TestPki pki, other;
  auto server = serve(pki.tls(CertRole::manager, "am"));
  ASSERT_TRUE(server) << server.error().context;
  for (const auto role : {CertRole::node, CertRole::host, CertRole::admin, CertRole::manager})
    EXPECT_EQ(ask_who(server->endpoint(), pki.tls(role, "x").get()), fmt::format("{} x", to_string(role)));
  EXPECT_THAT(ask_who(server->endpoint(), other.tls(CertRole::node, "x").get()),
              HasSubstr("TLS: the process that answers there has no manager's certificate of our authority"));
  EXPECT_THAT(ask_who(server->endpoint(), nullptr), HasSubstr("TLS: it closes the connection at once"))
      << "clear text to TLS";
}

TEST(Tls, who_serves_without_the_managers_certificate_is_not_believed) {
  const TestPki pki, other;
  // The real daemon would not start with these files, but a thief of a node's key would run a program of his own.
  auto node = serve(pki.tls(CertRole::node, "an-root"));
  auto stranger = serve(other.tls(CertRole::manager, "am"));
  auto clear = serve(nullptr);
  ASSERT_TRUE(node && stranger && clear);
  const auto us = pki.tls(CertRole::host, "h1");
  for (const auto* server : {&*node, &*stranger})
    EXPECT_THAT(ask_who(server->endpoint(), us.get()),
                HasSubstr("TLS: the process that answers there has no manager's certificate"));
  EXPECT_THAT(ask_who(clear->endpoint(), us.get()), HasSubstr("TLS: the process that answers there speaks clear text"));
}

/// This can happen: the certificate expired after sharp_am had started with it, or the clocks differ.
TEST(Tls, a_manager_whose_certificate_is_out_of_its_time_is_not_believed) {
  const TestPki pki;
  const auto us = pki.tls(CertRole::host, "h1");
  for (const auto& row : certificate_times()) {
    SCOPED_TRACE(row.name);
    const auto pair = issue_certificate(pki.authority, {CertRole::manager, "am"}, row.when).value();
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = pki.authority.certificate;
    options.pem_key_cert_pairs.push_back({pair.key, pair.certificate});
    WhoService service([](const grpc::ServerContextBase&) { return fail(Errc::denied, "heard"); });
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    const auto answer = ask_who(fmt::format("127.0.0.1:{}", port), us.get());
    if (row.is_good)
      EXPECT_EQ(answer, "heard");
    else
      EXPECT_THAT(
          answer,
          HasSubstr("TLS: the process that answers there has no manager's certificate of our authority: --tls-dir "
                    "here and at sharp_am must come from one `sumac pki` directory, and not have "
                    "expired"));
  }
}

TEST(Tls, somebody_who_trusts_the_manager_but_whom_it_does_not_know_is_turned_away) {
  const TestPki pki, other;
  auto server = serve(pki.tls(CertRole::manager, "am"));
  ASSERT_TRUE(server);
  // No daemon would start with these files: another authority's certificate stands beside this one's.
  auto files = other.files(CertRole::node, "x");
  files.ca = pki.file("both.crt", pki.authority.certificate + other.authority.certificate);
  const auto tls = Tls::load(files, CertRole::node, "x");
  ASSERT_TRUE(tls) << tls.error().context;
  EXPECT_THAT(ask_who(server->endpoint(), tls->get()), HasSubstr("TLS: "));
}

TEST(Tls, a_new_certificate_needs_no_restart_and_a_broken_one_changes_nothing) {
  const TestPki pki;
  auto server = serve(pki.tls(CertRole::manager, "am"));
  ASSERT_TRUE(server);
  const auto files = pki.files(CertRole::node, "an");
  const auto tls = Tls::load(files, CertRole::node, "an").value();
  EXPECT_EQ(ask_who(server->endpoint(), tls.get()), "node an");
  pki.file("node-an.crt", "half of a fi");
  EXPECT_EQ(ask_who(server->endpoint(), tls.get()), "node an") << "what was good before is used";
  pki.files(CertRole::node, "an");
  EXPECT_EQ(ask_who(server->endpoint(), tls.get()), "node an");
}

}  // namespace
}  // namespace sumac::control
