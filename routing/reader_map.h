// Immutable values by name, that many threads look up all the time and that change now and then.
// Each of the threads has a Reader of its own, so that they share no cache line while they look,
// not even a reference count.
//
//   ReaderMap<RoutingTable> tables;
//   auto reader = tables.NewReader();  // one a thread
//   reader->Use("ams", [&](const RoutingTable* table) { ... });
//
// A value that was replaced or removed is gone as soon as those who took it out with Find let go:
// no Reader keeps it, however idle its thread is.
//
// Thread safety: thread-safe. A change waits for a Use under way, and a Use for the moment in which
// a change swaps a pointer.
#ifndef RINGSHIFT_ROUTING_READER_MAP_H_
#define RINGSHIFT_ROUTING_READER_MAP_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "migration/mutex.h"

namespace ringshift {

template <typename T>
class ReaderMap {
 public:
  using Value = std::shared_ptr<const T>;
  using Values = std::map<std::string, Value, std::less<>>;

  // All of the values, behind a lock and on cache lines of its own.
  class alignas(64) Reader {
   public:
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    // The map outlives its readers.
    ~Reader() {
      if (map_ != nullptr) map_->Forget(this);
    }

    // Returns what `use` returns for the value, or for null if there is none of that name. `use`
    // takes no longer than a request may, and does not change the map. Cost: a lock, uncontended
    // where one thread has the Reader, and a few comparisons of names.
    template <typename User>
    auto Use(std::string_view name, User use) const {
      MutexLock lock(mutex_);
      const auto found = values_.find(name);
      return use(found == values_.end() ? nullptr : found->second.get());
    }

    // The value, for longer; null if there is none of that name. Cost: that of Use, and its
    // reference count, which all threads share.
    Value Find(std::string_view name) const {
      MutexLock lock(mutex_);
      const auto found = values_.find(name);
      return found == values_.end() ? nullptr : found->second;
    }

    Values All() const {
      MutexLock lock(mutex_);
      return values_;
    }

   private:
    friend class ReaderMap;

    explicit Reader(ReaderMap* map, Values values = {}) : map_(map), values_(std::move(values)) {}

    // Returns the value that was there, or null.
    Value Set(const std::string& name, Value value) {
      Values added;
      added.emplace(name, std::move(value));  // allocates, which is not for under the lock
      MutexLock lock(mutex_);
      if (const auto found = values_.find(name); found != values_.end()) {
        return std::exchange(found->second, std::move(added.begin()->second));
      }
      values_.merge(added);
      return nullptr;
    }

    Value Remove(std::string_view name) {
      MutexLock lock(mutex_);
      const auto found = values_.find(name);
      if (found == values_.end()) return nullptr;
      Value removed = std::move(found->second);
      values_.erase(found);
      return removed;
    }

    ReaderMap* const map_;
    mutable Mutex mutex_;
    Values values_ ABSL_GUARDED_BY(mutex_);
  };

  std::unique_ptr<Reader> NewReader() {
    MutexLock lock(mutex_);
    std::unique_ptr<Reader> reader(new Reader(this, own_.All()));
    readers_.push_back(reader.get());
    return reader;
  }

  // Puts the value in the place of the present one, which it returns, or adds it and returns null.
  // Every reader has it then.
  Value Set(const std::string& name, const Value& value) {
    MutexLock lock(mutex_);
    // What a reader lets go of is still held here: nothing is destroyed under a lock.
    Value old = own_.Set(name, value);
    for (Reader* reader : readers_) reader->Set(name, value);
    return old;
  }

  // Returns the value that was there; null if there was none.
  Value Remove(std::string_view name) {
    MutexLock lock(mutex_);
    Value old = own_.Remove(name);
    for (Reader* reader : readers_) reader->Remove(name);
    return old;
  }

  // For threads that have no Reader: as Reader::Find and All.
  Value Find(std::string_view name) const { return own_.Find(name); }
  Values All() const { return own_.All(); }

 private:
  void Forget(Reader* reader) {
    MutexLock lock(mutex_);
    std::erase(readers_, reader);
  }

  mutable Mutex mutex_;  // taken before that of a reader; it puts changes in one order
  Reader own_{nullptr};
  std::vector<Reader*> readers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_READER_MAP_H_
