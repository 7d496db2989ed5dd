/* sotto.h: rows of somebody else's table, without telling them which. bindings/native/README.md says how.
 *
 * The library opens no socket: a function of the caller's sends every request. It writes to no folder that the caller does not name.
 * Every function may be called by any thread, and none by a callback but those of the reply. */

#ifndef SOTTO_H
#define SOTTO_H

/* Made by cbindgen of bindings/native/src/abi. Change that, and run bindings/native/check --header. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Success.
#define SOTTO_OK 0

// Success; the table does not have the key.
#define SOTTO_ABSENT 1

// Success; the table has a newer epoch.
#define SOTTO_NEWER 2

// The call is wrong.
#define SOTTO_MISUSE -1

// The call is wrong: the table has no such row.
#define SOTTO_ROW -2

// The table's parameters are refused.
#define SOTTO_PARAMS -3

// The server or the publisher is at fault: another signature, another snapshot, damaged answers.
#define SOTTO_PEER -4

// The network failed. A transport returns this if it cannot connect, or loses its connection.
#define SOTTO_NETWORK -5

// No response came in time. A transport returns this after its timeout.
#define SOTTO_TIMEOUT -6

// The disk of this machine failed.
#define SOTTO_STORAGE -7

// An answer is unreadable, and the fault unknown. Do not repeat the lookup at once, and do not
// report it: a server learns from that.
#define SOTTO_UNREADABLE -8

// Code for a failure of this machine, or of sotto itself.
#define SOTTO_MACHINE -9

// A transport returns this to cancel the call.
#define SOTTO_CANCELLED -10

// Receives the response from a transport. Valid during the callback, for one thread.
typedef struct SottoReply SottoReply;

// A request to send unchanged, with these headers and none that identify the client. Valid during
// the callback.
typedef struct {
  // Which server, counted from 0 in the order of `servers`.
  uint32_t server;
  // `GET` or `POST`.
  const char *method;
  // Path and query, from the slash on: what follows the server's address.
  const char *path;
  // The value of the header `range`, or null.
  const char *range;
  // The value of the header `content-type`, or null.
  const char *content_type;
  // The body.
  const uint8_t *body;
  // Bytes of the body; 0 for a GET.
  size_t body_len;
  // Maximum bytes of the body of a success. A larger one is refused, so reading can stop there.
  uint64_t limit;
} SottoRequest;

// Sends a request, waits for the response and puts it into `reply`. Returns `SOTTO_OK`, also for a
// refusal; `SOTTO_NETWORK` or `SOTTO_TIMEOUT` without a response; or `SOTTO_CANCELLED` to cancel
// the call.
//
// A transport follows no redirect, which would take the query to somebody else: 3xx is a response. It sends no cookie and
// keeps none, and adds no header of its own that differs between callers (`User-Agent`, `Accept-Language`, `Authorization`,
// `Referer`): each would tie lookups to a person. It caches nothing.
typedef int32_t (*SottoTransport)(void *context, const SottoRequest *request, SottoReply *reply);

// Receives the progress of an opening: its stage (`catalog`, `hint`, `rows`, `keys`, `ready`,
// ...), bytes done, and bytes in total, or 0 if unknown.
typedef void (*SottoProgress)(void *context, const char *stage, uint64_t done, uint64_t total);

// The number of an open table, from `sotto_open`. 0 is no table.
typedef uint64_t SottoTable;

// An error. Texts end in a zero byte; free them with `sotto_error_free`.
typedef struct {
  // One of the negative `SOTTO_` constants; 0 if there is no error, and then the texts are null.
  int32_t status;
  // A stable name for programs.
  char *code;
  // What went wrong.
  char *message;
  // What to do.
  char *fix;
  // All of it as JSON: `kind`, `code`, `message`, `fix`.
  char *json;
} SottoError;

// Bytes that the library owns. Leave them as they are, and free them with `sotto_free`.
typedef struct {
  // Pointer to the bytes; null if there are none.
  uint8_t *data;
  // Number of bytes.
  size_t len;
} SottoBuffer;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The library's version.
const char *sotto_version(void);

// Opens a table or a stack: fetches its catalog, and what its scheme needs once. `config` is a
// JSON object with `servers`, `table` and options; the README lists them.
//
// `transport` sends every request, during this call and during lookups, and never after
// `sotto_close`. `progress` may be null. Both receive `context`, and may be called by threads of
// the library, for a table of several servers by several at once; each must return, and throw
// nothing.
//
// Returns `SOTTO_OK`, with the number in `table`; or a negative status, with details in `error`
// unless it is null.
//
// # Safety
// `config` points to `config_len` bytes, `table` and `error` (or null) to one each. What `context` points to lives until the
// table is closed, and may be used by any thread.
int32_t sotto_open(const uint8_t *config,
                   size_t config_len,
                   SottoTransport transport,
                   SottoProgress progress,
                   void *context,
                   SottoTable *table,
                   SottoError *error);

// Closes a table. Waits for calls in progress; afterwards its callbacks are not called, and its
// number is invalid.
//
// # Safety
// `error` points to one, or is null.
int32_t sotto_close(SottoTable table, SottoError *error);

// Looks up a row by its number. The server does not learn which.
//
// # Safety
// `value` points to one, and `error` to one or is null.
int32_t sotto_get_row(SottoTable table, uint64_t row, SottoBuffer *value, SottoError *error);

// Looks up the value of a key, which is UTF-8: `SOTTO_ABSENT` if the table does not have it. The server sees no difference.
//
// # Safety
// `key` points to `key_len` bytes, `value` to one, and `error` to one or is null.
int32_t sotto_get_key(SottoTable table, const uint8_t *key, size_t key_len, SottoBuffer *value, SottoError *error);

// Looks up several rows and keys in one round, which is padded to a multiple of `batch`: the server sees how many batches,
// and neither how many lookups there were nor which. `lookups` is a JSON list of numbers and texts. Read the values with
// `sotto_value_at`.
//
// # Safety
// `lookups` points to `lookups_len` bytes, `values` to one, and `error` to one or is null.
int32_t sotto_get_many(SottoTable table, const uint8_t *lookups, size_t lookups_len, SottoBuffer *values, SottoError *error);

// One of the values of `sotto_get_many`: `SOTTO_OK`, and the place of its bytes within `values`;
// `SOTTO_ABSENT` for a key that the table does not have; `SOTTO_MISUSE` if there are fewer values.
//
// # Safety
// `values` points to one that `sotto_get_many` filled and nobody freed; `data` and `len` point to one each.
int32_t sotto_value_at(const SottoBuffer *values, size_t index, const uint8_t **data, size_t *len);

// What the last lookup cost and what the servers saw of it, as JSON; `null` before the first.
//
// # Safety
// `json` points to one, and `error` to one or is null.
int32_t sotto_last(SottoTable table, SottoBuffer *json, SottoError *error);

// Description of the table as it is now, as JSON.
//
// # Safety
// `json` points to one, and `error` to one or is null.
int32_t sotto_about(SottoTable table, SottoBuffer *json, SottoError *error);

// Checks for a newer epoch: `SOTTO_NEWER` if there was one, `SOTTO_OK` if not. Lookups do that by themselves once their epoch
// has ended.
//
// # Safety
// `error` points to one, or is null.
int32_t sotto_refresh(SottoTable table, SottoError *error);

// Replays a recorded lookup (`spec/vectors`): whether this build makes the recorded bytes on this processor, and reads the
// recorded row. `vector` is the text, followed by the bytes of the file beside it, if there is one. No transport is needed.
//
// # Safety
// `vector` points to `vector_len` bytes, `row` to one, and `error` to one or is null.
int32_t sotto_self_test(const uint8_t *vector, size_t vector_len, SottoBuffer *row, SottoError *error);

// Frees bytes, and leaves an empty buffer. Null and empty ones are left as they are.
//
// # Safety
// `buffer` points to one that the library filled or left empty, or is null.
void sotto_free(SottoBuffer *buffer);

// Frees an error's texts, and leaves one of nothing.
//
// # Safety
// `error` points to one that the library filled, or that is zero throughout, or is null.
void sotto_error_free(SottoError *error);

// The response's HTTP status.
//
// # Safety
// `reply` is what the callback was given, or null.
int32_t sotto_reply_status(SottoReply *reply, uint16_t status);

// A header of the response. Those that are not `retry-after` or `server-timing` may be left out.
//
// # Safety
// `reply` is what the callback was given, or null; the texts end in a zero byte, or are null.
int32_t sotto_reply_header(SottoReply *reply, const char *name, const char *value);

// Adds bytes to the response's body. `SOTTO_PEER` once the body exceeds its limit: reading can stop there.
//
// # Safety
// `reply` is what the callback was given, or null; `data` points to `len` bytes, or is null.
int32_t sotto_reply_body(SottoReply *reply, const uint8_t *data, size_t len);

// Sets the reason why no response arrived, in a sentence for people.
//
// # Safety
// `reply` is what the callback was given, or null; `why` ends in a zero byte, or is null.
int32_t sotto_reply_error(SottoReply *reply, const char *why);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SOTTO_H */
