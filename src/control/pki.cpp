#include "control/pki.hpp"

#include <openssl/bn.h>

#include <array>

#include "control/openssl.hpp"

namespace sumac::control {
namespace {

Error openssl_error(std::string_view what) {
  return Error{Errc::internal, fmt::format("{}: OpenSSL: {}", what, openssl_words())};
}

/// 127 random bits make it practically impossible that two certificates of one authority have the same serial number.
bool set_serial(X509* certificate) {
  const Openssl<BIGNUM> number(BN_new());
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Openssl<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_name(X509_NAME* name, std::string_view unit, std::string_view common_name) {
  const auto add = [&](const char* field, std::string_view text) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1;
  };
  return add("O", "Sumac") && add("OU", unit) && add("CN", common_name);
}

/// Returns the text that `write` puts into a buffer, such as PEM.
template <class Write>
Result<std::string> text_of(Write write) {
  const Openssl<BIO> buffer(BIO_new(BIO_s_mem()));
  if (!buffer || write(buffer.get()) != 1) return tl::unexpected(openssl_error("writing PEM"));
  char* data = nullptr;
  const long size = BIO_get_mem_data(buffer.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> pem_of(EVP_PKEY* key) {
  return text_of([&](BIO* to) { return PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

Result<Openssl<EVP_PKEY>> fresh_key() {
  Openssl<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return tl::unexpected(openssl_error("a key"));
  return key;
}

/// An unsigned certificate.
struct Draft {
  Openssl<X509> certificate;

  static Result<Draft> make(std::string_view unit, std::string_view name, const Validity& when, EVP_PKEY* key) {
    Draft draft{Openssl<X509>(X509_new())};
    X509* x = draft.certificate.get();
    if (!x || X509_set_version(x, X509_VERSION_3) != 1 || !set_serial(x) ||
        !set_name(X509_get_subject_name(x), unit, name) ||
        ASN1_TIME_set(X509_getm_notBefore(x), when.from) == nullptr ||
        ASN1_TIME_set(X509_getm_notAfter(x), when.until) == nullptr || X509_set_pubkey(x, key) != 1)
      return tl::unexpected(openssl_error("a certificate for " + std::string(name)));
    return draft;
  }

  Result<std::string> sign(X509* issuer, EVP_PKEY* issuer_key) {
    if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) != 1 ||
        X509_sign(certificate.get(), issuer_key, EVP_sha256()) == 0)
      return tl::unexpected(openssl_error("signing"));
    return text_of([&](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); });
  }
};

Result<std::string> certify_key(const CertAndKey& authority, EVP_PKEY* key, const Identity& who, const Validity& when) {
  const auto issuer_text = memory_of(authority.certificate), issuer_key_text = memory_of(authority.key);
  const Openssl<X509> issuer(PEM_read_bio_X509(issuer_text.get(), nullptr, nullptr, nullptr));
  if (!issuer) return tl::unexpected(openssl_error("the authority's certificate can't be read"));
  const Openssl<EVP_PKEY> issuer_key(PEM_read_bio_PrivateKey(issuer_key_text.get(), nullptr, nullptr, nullptr));
  if (!issuer_key) return tl::unexpected(openssl_error("the authority's key can't be read"));
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1)
    return fail(Errc::invalid, "the authority's certificate and key don't belong together");
  auto draft = Draft::make(to_string(who.role), who.name, when, key);
  if (!draft) return tl::unexpected(draft.error());
  X509* x = draft->certificate.get();
  // Other daemons call nodes and sharpds too (control.proto, Inspection); a person serves nobody.
  const bool serves = who.role != CertRole::admin;
  std::string names = "URI:" + to_uri(who);
  if (serves) names += ",DNS:" + dns_name(who);
  if (!add_extension(x, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(x, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(x, issuer.get(), NID_ext_key_usage, serves ? "serverAuth,clientAuth" : "clientAuth") ||
      !add_extension(x, issuer.get(), NID_subject_key_identifier, "hash") ||
      !add_extension(x, issuer.get(), NID_authority_key_identifier, "keyid:always") ||
      !add_extension(x, issuer.get(), NID_subject_alt_name, names))
    return tl::unexpected(openssl_error("the certificate of " + describe(who)));
  return draft->sign(issuer.get(), issuer_key.get());
}

Result<> check_name(std::string_view name) {
  if (!is_certificate_name(name))
    return fail(Errc::invalid, "'{:.80}' is no name: letters, digits, '.', '-' and '_', at most 63", name);
  return {};
}

}  // namespace

Validity Validity::days(int count) {
  const auto now = std::time(nullptr);
  return {now - 3600, now + std::time_t{count} * 86400};
}

Result<CertAndKey> make_authority(std::string_view name, const Validity& when) {
  if (auto valid = check_name(name); !valid) return tl::unexpected(valid.error());
  auto key = fresh_key();
  if (!key) return tl::unexpected(key.error());
  auto draft = Draft::make("authority", name, when, key->get());
  if (!draft) return tl::unexpected(draft.error());
  X509* x = draft->certificate.get();
  // pathlen 0 forbids that a certificate signed by this authority signs another one.
  if (!add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(x, x, NID_subject_key_identifier, "hash"))
    return tl::unexpected(openssl_error("the authority's certificate"));
  auto certificate = draft->sign(x, key->get());
  if (!certificate) return tl::unexpected(certificate.error());
  auto text = pem_of(key->get());
  if (!text) return tl::unexpected(text.error());
  return CertAndKey{*std::move(certificate), *std::move(text)};
}

namespace {

Result<Openssl<X509>> read_certificate(std::string_view pem) {
  const auto text = memory_of(pem);
  Openssl<X509> x(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  if (x) return x;
  ERR_clear_error();
  return fail(Errc::invalid, "it holds no certificate in PEM");
}

}  // namespace

Result<CertificateView> view_certificate(std::string_view pem) {
  const auto read = read_certificate(pem);
  if (!read) return tl::unexpected(read.error());
  const auto& x = *read;
  CertificateView view;
  if (const auto who = identity_in(x.get())) {
    view.who = describe(*who);
  } else if (X509_check_ca(x.get()) != 0) {
    char name[128] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(x.get()), NID_commonName, name, sizeof name);
    view.who = fmt::format("authority {}", name);
  } else {
    return tl::unexpected(who.error());
  }
  view.until = date_text(X509_get0_notAfter(x.get()));
  view.over = X509_cmp_current_time(X509_get0_notAfter(x.get())) < 0;
  return view;
}

Result<Validity> validity_of(std::string_view pem) {
  const auto x = read_certificate(pem);
  if (!x) return tl::unexpected(x.error());
  const auto seconds = [](const ASN1_TIME* time) {
    std::tm when{};
    return ASN1_TIME_to_tm(time, &when) == 1 ? ::timegm(&when) : 0;
  };
  return Validity{seconds(X509_get0_notBefore(x->get())), seconds(X509_get0_notAfter(x->get()))};
}

Result<> check_issuer(std::string_view pem, std::string_view authority_pem) {
  const auto x = read_certificate(pem), authority = read_certificate(authority_pem);
  if (!x) return tl::unexpected(x.error());
  if (!authority) return within("its authority's file", authority.error());
  const bool is_of = X509_verify(x->get(), X509_get0_pubkey(authority->get())) == 1;
  ERR_clear_error();
  if (!is_of) return fail(Errc::denied, "it is not of the authority beside it");
  return {};
}

Result<CertAndKey> issue_certificate(const CertAndKey& authority, const Identity& who, const Validity& when) {
  if (auto valid = check_name(who.name); !valid) return tl::unexpected(valid.error());
  auto key = fresh_key();
  if (!key) return tl::unexpected(key.error());
  auto certificate = certify_key(authority, key->get(), who, when);
  if (!certificate) return tl::unexpected(certificate.error());
  auto text = pem_of(key->get());
  if (!text) return tl::unexpected(text.error());
  return CertAndKey{*std::move(certificate), *std::move(text)};
}

Result<KeyAndRequest> make_request(const Identity& who) {
  if (auto valid = check_name(who.name); !valid) return tl::unexpected(valid.error());
  auto key = fresh_key();
  if (!key) return tl::unexpected(key.error());
  const Openssl<X509_REQ> request(X509_REQ_new());
  X509_REQ* r = request.get();
  if (!r || X509_REQ_set_version(r, 0) != 1 || !set_name(X509_REQ_get_subject_name(r), to_string(who.role), who.name) ||
      X509_REQ_set_pubkey(r, key->get()) != 1 || X509_REQ_sign(r, key->get(), EVP_sha256()) == 0)
    return tl::unexpected(openssl_error("a request for " + describe(who)));
  auto text = text_of([&](BIO* to) { return PEM_write_bio_X509_REQ(to, r); });
  if (!text) return tl::unexpected(text.error());
  auto key_text = pem_of(key->get());
  if (!key_text) return tl::unexpected(key_text.error());
  return KeyAndRequest{*std::move(key_text), *std::move(text)};
}

Result<std::string> certify(const CertAndKey& authority, std::string_view request, const Identity& who,
                            const Validity& when) {
  if (auto valid = check_name(who.name); !valid) return tl::unexpected(valid.error());
  const auto text = memory_of(request);
  const Openssl<X509_REQ> read(PEM_read_bio_X509_REQ(text.get(), nullptr, nullptr, nullptr));
  EVP_PKEY* const key = read ? X509_REQ_get0_pubkey(read.get()) : nullptr;
  if (key == nullptr || X509_REQ_verify(read.get(), key) != 1) {
    ERR_clear_error();
    return fail(Errc::invalid, "the request of {} is none, or not signed by its own key", describe(who));
  }
  return certify_key(authority, key, who, when);
}

}  // namespace sumac::control
