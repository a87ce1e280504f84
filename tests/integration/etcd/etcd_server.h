// Real etcd members under test, on ports and in a directory of their own.
//
//   EtcdServer etcd;                 // one member; EtcdServer etcd({.members = 3})
//   EtcdClient::Create(etcd.ClientOptions());
//   etcd.Kill(0);
//   etcd.Start(0);                   // with the same data, on the same ports
//   etcd.WaitUntilReady();
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_INTEGRATION_ETCD_ETCD_SERVER_H_
#define RINGSHIFT_TESTS_INTEGRATION_ETCD_ETCD_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "migration/etcd/etcd_client.h"
#include "tests/integration/process.h"

namespace ringshift::testing {

class EtcdServer {
 public:
  struct Options {
    int members = 1;
    std::vector<std::string> flags = {};  // more, for every member
    // With files made by MakeCertificates in its directory, and only for clients that have one.
    bool tls = false;
  };

  // Starts all members and waits until they answer; a test failure if they do not.
  EtcdServer() : EtcdServer(Options()) {}
  explicit EtcdServer(Options options);

  void Start(int member);
  void Kill(int member);  // SIGKILL
  void Signal(int member, int signal) { members_.at(Index(member)).process->Signal(signal); }
  void WaitUntilReady();

  int member_count() const { return static_cast<int>(members_.size()); }
  std::string Endpoint(int member) const;  // host:port
  // Of all members.
  EtcdClientOptions ClientOptions() const;

  // Runs etcdctl on the first member; a test failure if it fails. Its stdout.
  std::string Ctl(const std::vector<std::string>& arguments) const;

  // A backup of what it has, and back to it, with the same identity and on the same ports: all
  // members have to be one, and stopped before Restore.
  std::string Backup(const std::string& name);
  void Restore(const std::string& backup);
  // Begins anew, as another cluster, with nothing in it.
  void Wipe();

  const TempDir& dir() const { return dir_; }

 private:
  struct Member {
    int client_port = 0;
    int peer_port = 0;
    std::string data;
    std::unique_ptr<Process> process;
  };

  static std::size_t Index(int member) { return static_cast<std::size_t>(member); }
  std::string Scheme() const { return options_.tls ? "https://" : "http://"; }
  std::string PeerUrl(const Member& member) const;
  void MakeCertificates();

  const Options options_;
  TempDir dir_;
  std::string cluster_token_ = "ringshift";
  std::vector<Member> members_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_ETCD_ETCD_SERVER_H_
