#include "server/open_store.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "migration/etcd/etcd_store.h"
#include "migration/sqlite_store.h"

namespace ringshift {
namespace {

// The first line, without its end.
absl::StatusOr<std::string> ReadPassword(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    const int error = errno;
    const std::string message =
        "--store-password-file=" + path + ": " + std::generic_category().message(error);
    if (error == EACCES) return absl::PermissionDeniedError(message);
    return absl::NotFoundError(message);
  }
  std::string password;
  std::getline(file, password);
  if (password.empty()) {
    return absl::InvalidArgumentError("--store-password-file=" + path +
                                      ": its first line, the password, is empty");
  }
  return password;
}

absl::StatusOr<OpenedStore> OpenSqlite(const RouterOptions& options) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(
      options.sqlite_path,
      options.store_must_exist ? SqliteStore::IfMissing::kFail : SqliteStore::IfMissing::kCreate);
  if (!store.ok()) return store.status();
  const bool created = (*store)->created();
  return OpenedStore{*std::move(store), "sqlite:" + options.sqlite_path, created, nullptr};
}

absl::StatusOr<OpenedStore> OpenEtcd(const RouterOptions& options) {
  const EtcdSettings& settings = *options.etcd;
  EtcdStore::Options etcd;
  etcd.etcd.endpoints = settings.address.endpoints;
  etcd.etcd.ca_file = settings.ca_file;
  etcd.etcd.certificate_file = settings.certificate_file;
  etcd.etcd.key_file = settings.key_file;
  etcd.etcd.user = settings.user;
  if (!settings.password_file.empty()) {
    absl::StatusOr<std::string> password = ReadPassword(settings.password_file);
    if (!password.ok()) return password.status();
    etcd.etcd.password = *std::move(password);
  }
  etcd.prefix = settings.address.prefix;
  etcd.cache_path = settings.cache_path;
  etcd.if_missing =
      options.store_must_exist ? EtcdStore::IfMissing::kFail : EtcdStore::IfMissing::kCreate;
  absl::StatusOr<std::unique_ptr<EtcdStore>> store = EtcdStore::Open(std::move(etcd));
  if (!store.ok()) return store.status();
  EtcdStore* const raw = store->get();
  const bool created = raw->created();
  return OpenedStore{*std::move(store), ToText(settings.address), created,
                     [raw] { return raw->statistics().revision_regressions; }};
}

}  // namespace

bool MayMakeStore(const RouterOptions& options) {
  if (options.store_must_exist) return false;
  std::error_code unknown;
  const std::string& path = options.etcd ? options.etcd->cache_path : options.sqlite_path;
  return !std::filesystem::exists(path, unknown);
}

absl::StatusOr<OpenedStore> OpenStore(const RouterOptions& options) {
  return options.etcd.has_value() ? OpenEtcd(options) : OpenSqlite(options);
}

}  // namespace ringshift
