#include "client/ringctl/csv_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

CsvReader::CsvReader(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), buffer_(kReadBytes, '\0') {}

bool CsvReader::Next() {
  while (status_.ok()) {
    switch (ParseRecord()) {
      case Parsed::kRecord:
        return true;
      case Parsed::kError:
        return false;
      case Parsed::kIncomplete:
        if (at_end_) return false;
        if (end_ - begin_ > kMaxRecordBytes) {
          Fail(next_line_, absl::StrCat("the record is longer than ", kMaxRecordBytes, " bytes"));
          return false;
        }
        at_end_ = !ReadMore();
    }
  }
  return false;
}

CsvReader::Parsed CsvReader::ParseRecord() {
  std::size_t at = begin_;
  if (at_start_) {
    const std::string_view text = std::string_view(buffer_).substr(at, end_ - at);
    if (text.starts_with(kByteOrderMark)) at += kByteOrderMark.size();
  }
  if (at == end_) return Parsed::kIncomplete;

  field_count_ = 0;
  std::uint64_t lines = 0;  // ends of lines inside quotes
  for (;;) {
    std::string& field = AddField();
    if (at < end_ && buffer_[at] == '"') {
      const std::uint64_t first_line = next_line_ + lines;
      ++at;
      for (;;) {
        const void* const quote = std::memchr(buffer_.data() + at, '"', end_ - at);
        if (quote == nullptr) {
          return at_end_ ? Fail(first_line, "a quoted field does not end") : Parsed::kIncomplete;
        }
        const auto stop =
            static_cast<std::size_t>(static_cast<const char*>(quote) - buffer_.data());
        for (std::size_t i = at; i < stop; ++i) lines += buffer_[i] == '\n';
        field.append(buffer_, at, stop - at);
        at = stop + 1;
        if (at == end_ || buffer_[at] != '"') break;
        field += '"';
        ++at;
      }
    } else {
      const std::size_t start = at;
      while (at < end_ && buffer_[at] != ',' && buffer_[at] != '\n' && buffer_[at] != '\r' &&
             buffer_[at] != '"') {
        ++at;
      }
      if (at < end_ && buffer_[at] == '"') {
        return Fail(next_line_ + lines, "a double quote in a field without quotes around it");
      }
      field.append(buffer_, start, at - start);
    }

    if (at == end_) {
      if (!at_end_) return Parsed::kIncomplete;
      break;
    }
    if (buffer_[at] == ',') {
      ++at;
      continue;
    }
    if (buffer_[at] == '\r') {
      if (at + 1 == end_ && !at_end_) return Parsed::kIncomplete;
      if (at + 1 == end_ || buffer_[at + 1] != '\n') {
        return Fail(next_line_ + lines, "a carriage return in a field without quotes around it");
      }
      ++at;
    }
    if (buffer_[at] != '\n') {
      return Fail(next_line_ + lines, "text behind the closing quote of a field");
    }
    ++at;
    ++lines;
    break;
  }
  begin_ = at;
  at_start_ = false;
  line_ = std::exchange(next_line_, next_line_ + lines);
  return Parsed::kRecord;
}

std::string& CsvReader::AddField() {
  if (field_count_ == fields_.size()) fields_.emplace_back();
  std::string& field = fields_[field_count_++];
  field.clear();
  return field;
}

CsvReader::Parsed CsvReader::Fail(std::uint64_t line, std::string_view problem) {
  status_ = absl::InvalidArgumentError(absl::StrCat(
      name_, ", line ", line, ": ", absl::string_view(problem.data(), problem.size())));
  return Parsed::kError;
}

bool CsvReader::ReadMore() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() - end_ < kReadBytes / 2) buffer_.resize(buffer_.size() * 2);
  while (end_ < buffer_.size()) {
    const ssize_t count = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (count == 0) return false;
    if (count > 0) {
      end_ += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      status_ =
          absl::UnavailableError(absl::StrCat("cannot read ", name_, ": ", std::strerror(errno)));
      return false;
    }
  }
  return true;
}

}  // namespace ringshift
