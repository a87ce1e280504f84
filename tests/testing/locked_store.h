// Another program that has the write lock of a store, while it lives.
#ifndef RINGSHIFT_TESTS_TESTING_LOCKED_STORE_H_
#define RINGSHIFT_TESTS_TESTING_LOCKED_STORE_H_

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace ringshift::testing {

class LockedStore {
 public:
  explicit LockedStore(const std::string& path) {
    EXPECT_EQ(::sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    EXPECT_EQ(::sqlite3_exec(database_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~LockedStore() { ::sqlite3_close(database_); }
  LockedStore(const LockedStore&) = delete;
  LockedStore& operator=(const LockedStore&) = delete;

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_LOCKED_STORE_H_
