// Reads CSV (RFC 4180) from a descriptor, record by record, in big blocks.
//
// Fields are separated by commas; a record ends at "\n", "\r\n" or the end of the input. A field in
// double quotes may have commas, line ends and, doubled, double quotes in it. Outside of quotes a
// double quote or a carriage return of the field's own is an error, since programs disagree on what
// it means. Every other byte is part of its field, spaces too. A UTF-8 byte order mark in front of
// everything is skipped.
//
//   CsvReader reader(fd, "owners.csv");
//   while (reader.Next()) Use(reader.fields(), reader.line());
//   if (!reader.status().ok()) ...
//
// Thread safety: thread-compatible. Cost: no allocation a record once the fields have their size.
#ifndef RINGSHIFT_CLIENT_RINGCTL_CSV_READER_H_
#define RINGSHIFT_CLIENT_RINGCTL_CSV_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ringshift {

class CsvReader {
 public:
  static constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;

  // `name` is what messages call the input.
  CsvReader(int fd, std::string name);

  // Goes to the next record. False at the end of the input, and after an error, which status() then
  // has.
  bool Next();

  // The present record; an empty line is one empty field. Valid until the next call of Next().
  std::span<const std::string> fields() const { return std::span(fields_).first(field_count_); }
  // The line on which it begins, from 1.
  std::uint64_t line() const { return line_; }

  // INVALID_ARGUMENT for what is no CSV, or a record above kMaxRecordBytes, with the name and the
  // line; UNAVAILABLE if the input cannot be read.
  const absl::Status& status() const { return status_; }

 private:
  enum class Parsed { kRecord, kIncomplete, kError };

  // Takes a record off the front of buffer_[begin_, end_).
  Parsed ParseRecord();
  std::string& AddField();
  Parsed Fail(std::uint64_t line, std::string_view problem);
  // Fills the buffer behind what is there, twice the size where that is full. False at the end of
  // the input and after an error.
  bool ReadMore();

  const int fd_;
  const std::string name_;
  std::string buffer_;  // buffer_[begin_, end_) is read and not yet given out
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;   // of the input
  bool at_start_ = true;  // of the input: no record was taken
  std::uint64_t line_ = 0;
  std::uint64_t next_line_ = 1;  // of buffer_[begin_]
  std::vector<std::string> fields_;
  std::size_t field_count_ = 0;
  absl::Status status_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_CSV_READER_H_
