/* sotto.h against a real `sotto serve`: what it finds, what it refuses, and that it opens no socket.
 *
 * abi PORT PIN OTHER_PIN SNAPSHOT SCRATCH WITNESS, with tables `words` (sotto -> under, voce -> voice; in a log that the witness has
 * cosigned), `hashes` (64 rows of 32 bytes: the row's number, 32 times; OTHER_PIN is of two keys) and `spent` (the same, of a scheme
 * whose hints are used up). */
#define _GNU_SOURCE
#include "../include/sotto.h"
#include "http.h"

#include <glob.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int checks;
#define CHECK(what, ...)                                                             \
  do {                                                                               \
    checks++;                                                                        \
    if (!(what)) {                                                                   \
      fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #what);             \
      fprintf(stderr, __VA_ARGS__);                                                  \
      fputc('\n', stderr);                                                           \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

static uint16_t port;
static const char *pin, *other_pin, *snapshot, *scratch, *witness;

/* What a table's callbacks are given. */
struct callbacks {
  uint16_t port;
  struct helper *helper;
  atomic_int queries;
  int damages, cancels, calls_back, inside, ready;
  SottoTable table;
};

static int32_t send_request(void *context, const SottoRequest *sent, SottoReply *reply) {
  struct callbacks *callbacks = context;
  struct request request = {.body = (uint8_t *)sent->body, .body_len = sent->body_len};
  struct response response = {0};
  snprintf(request.method, sizeof request.method, "%s", sent->method);
  snprintf(request.path, sizeof request.path, "%s", sent->path);
  if (sent->range) snprintf(request.range, sizeof request.range, "%s", sent->range);
  if (sent->content_type) snprintf(request.content_type, sizeof request.content_type, "%s", sent->content_type);
  int is_query = strstr(sent->path, "/ask") != NULL;
  if (is_query) callbacks->queries++;
  if (callbacks->cancels) return SOTTO_CANCELLED;
  if (callbacks->calls_back) {
    SottoBuffer value;
    SottoError error;
    callbacks->inside = sotto_get_row(callbacks->table, 1, &value, &error);
    sotto_error_free(&error);
    CHECK(sotto_close(callbacks->table, NULL) == SOTTO_MISUSE, "closed from within");
  }
  const char *why = "the helper gave up";
  int failed = callbacks->helper ? helper_call(callbacks->helper, &request, &response)
                            : http_call(callbacks->port, &request, &response, &why);
  if (failed) {
    sotto_reply_error(reply, why);
    free(response.body);
    return SOTTO_NETWORK;
  }
  if (callbacks->damages && is_query)
    for (size_t i = 0; i < response.body_len; i++) response.body[i] ^= callbacks->damages == 2 ? 0xFF : i >= 64;
  sotto_reply_status(reply, (uint16_t)response.status);
  if (response.retry_after[0]) sotto_reply_header(reply, "Retry-After", response.retry_after);
  if (response.server_timing[0]) sotto_reply_header(reply, "Server-Timing", response.server_timing);
  /* In two pieces, as they may come. */
  size_t half = response.body_len / 2;
  sotto_reply_body(reply, response.body, half);
  sotto_reply_body(reply, response.body + half, response.body_len - half);
  free(response.body);
  return SOTTO_OK;
}

static void report_progress(void *context, const char *stage, uint64_t done, uint64_t total) {
  (void)done, (void)total;
  ((struct callbacks *)context)->ready |= strcmp(stage, "ready") == 0;
}

static char *config(const char *form, ...) {
  static char text[4096];
  va_list list;
  va_start(list, form);
  vsnprintf(text, sizeof text, form, list);
  va_end(list);
  return text;
}

static SottoError error;

static int32_t open_at(struct callbacks *callbacks, const char *json, SottoTable *table) {
  sotto_error_free(&error);
  int32_t status = sotto_open((const uint8_t *)json, strlen(json), send_request, report_progress, callbacks, table, &error);
  if (status == SOTTO_OK) callbacks->table = *table;
  return status;
}

static SottoTable opened(struct callbacks *callbacks, const char *json) {
  SottoTable table;
  CHECK(open_at(callbacks, json, &table) == SOTTO_OK, "%s", error.json);
  return table;
}

static void refused(const char *json, int32_t status, const char *code) {
  struct callbacks callbacks = {.port = port};
  SottoTable table = 7;
  int32_t got = open_at(&callbacks, json, &table);
  CHECK(got == status && error.status == status, "%d for %.200s: %s", got, json, error.json);
  CHECK(strcmp(error.code, code) == 0 && error.fix[0] && strstr(error.json, "\"fix\""), "%s", error.json);
  CHECK(table == 0 && callbacks.queries == 0, "a table, or a query");
}

static void row_is(SottoTable table, uint64_t row) {
  SottoBuffer value;
  SottoError error;
  CHECK(sotto_get_row(table, row, &value, &error) == SOTTO_OK, "%s", error.json);
  CHECK(value.len == 32, "%zu bytes", value.len);
  for (size_t i = 0; i < value.len; i++) CHECK(value.data[i] == row, "row %d", (int)row);
  sotto_free(&value);
  sotto_free(&value);
  CHECK(value.data == NULL && error.json == NULL, "something is left");
}

static void key_is(SottoTable table, const char *key, const char *expected) {
  SottoBuffer value;
  int32_t status = sotto_get_key(table, (const uint8_t *)key, strlen(key), &value, &error);
  CHECK(status == (expected ? SOTTO_OK : SOTTO_ABSENT), "%s: %d", key, status);
  if (expected) CHECK(value.len == strlen(expected) && memcmp(value.data, expected, value.len) == 0, "%.*s", (int)value.len, value.data);
  sotto_free(&value);
}

static void finds_rows_and_keys(void) {
  struct callbacks callbacks = {.port = port};
  SottoTable words = opened(&callbacks, config("{\"servers\":[\"here\"],\"table\":\"words\",\"pin\":\"%s\"}", pin));
  CHECK(callbacks.ready, "nobody was told that it is ready");
  SottoBuffer json;
  CHECK(sotto_last(words, &json, &error) == SOTTO_OK && json.len == 4 && memcmp(json.data, "null", 4) == 0, "last");
  sotto_free(&json);
  key_is(words, "sotto", "under");
  key_is(words, "voce", "voice");
  key_is(words, "basso", NULL);
  int queries = callbacks.queries;

  const char *list = "[\"voce\", \"basso\", \"sotto\"]";
  SottoBuffer values;
  const uint8_t *data;
  size_t len;
  CHECK(sotto_get_many(words, (const uint8_t *)list, strlen(list), &values, &error) == SOTTO_OK, "%s", error.json);
  CHECK(callbacks.queries == queries + 1, "one round");
  CHECK(sotto_value_at(&values, 0, &data, &len) == SOTTO_OK && len == 5 && memcmp(data, "voice", 5) == 0, "first");
  CHECK(sotto_value_at(&values, 1, &data, &len) == SOTTO_ABSENT && data == NULL && len == 0, "second");
  CHECK(sotto_value_at(&values, 2, &data, &len) == SOTTO_OK && len == 5 && memcmp(data, "under", 5) == 0, "third");
  CHECK(sotto_value_at(&values, 3, &data, &len) == SOTTO_MISUSE, "there is no fourth");
  CHECK(sotto_value_at(&values, (size_t)-1, &data, &len) == SOTTO_MISUSE, "nor that");
  sotto_free(&values);

  CHECK(sotto_last(words, &json, &error) == SOTTO_OK, "%s", error.json);
  CHECK(memmem(json.data, json.len, "\"leakage\":\"The server saw one request", 37), "%.*s", (int)json.len, json.data);
  CHECK(memmem(json.data, json.len, "\"requested\":3,", 14), "%.*s", (int)json.len, json.data);
  sotto_free(&json);
  CHECK(sotto_about(words, &json, &error) == SOTTO_OK, "%s", error.json);
  CHECK(memmem(json.data, json.len, "\"trust\":\"pinned\"", 16) && memmem(json.data, json.len, snapshot, 64), "%.*s", (int)json.len, json.data);
  sotto_free(&json);
  CHECK(sotto_refresh(words, &error) == SOTTO_OK, "there is no newer epoch");
  CHECK(sotto_close(words, &error) == SOTTO_OK, "%s", error.json);

  SottoTable hashes = opened(&callbacks, "{\"servers\":[\"here\"],\"table\":\"hashes\"}");
  for (uint64_t row = 0; row < 64; row += 9) row_is(hashes, row);
  CHECK(sotto_close(hashes, NULL) == SOTTO_OK, "close");
  CHECK(strcmp(sotto_version(), "0.1.0") == 0, "%s", sotto_version());
}

static void pins_and_snapshots(void) {
  struct callbacks callbacks = {.port = port};
  const char *form = "{\"servers\":[\"here\"],\"table\":\"words\",\"%s\":\"%s\"}";
  SottoTable table = opened(&callbacks, config(form, "snapshot", snapshot));
  key_is(table, "sotto", "under");
  sotto_close(table, NULL);
  refused(config(form, "pin", other_pin), SOTTO_PEER, "wrong-key");
  refused(config(form, "pin", "no key"), SOTTO_MISUSE, "bad-key");
  char other[65];
  memset(other, '7', 64);
  other[64] = 0;
  refused(config(form, "snapshot", other), SOTTO_PEER, "other-snapshot");
  refused(config(form, "snapshot", "abc"), SOTTO_MISUSE, "misuse");
  refused(config(form, "anchor", "block-1"), SOTTO_PEER, "other-anchor");
  refused(config(form, "anchor", "a block"), SOTTO_MISUSE, "misuse");
  refused("{\"servers\":[\"here\"],\"table\":\"nothing\"}", SOTTO_PEER, "no-such-table");
}

static void policies_and_two_signatures(void) {
  struct callbacks callbacks = {.port = port};
  const char *form = "{\"servers\":[\"here\"],\"table\":\"%s\",\"policy\":\"witness w1 %s\\nquorum w1\\n\"%s}";
  SottoTable table = opened(&callbacks, config(form, "words", witness, ""));
  key_is(table, "sotto", "under");
  sotto_close(table, NULL);
  refused(config(form, "hashes", witness, ""), SOTTO_PEER, "not-logged");
  refused(config(form, "words", witness, ",\"witness_age\":0"), SOTTO_PEER, "stale-witnesses");
  refused(config(form, "words", witness, ",\"witness_age\":-1"), SOTTO_MISUSE, "misuse");
  refused(config(form, "words", "w2.example", ""), SOTTO_MISUSE, "misuse");
  form = "{\"servers\":[\"here\"],\"table\":\"%s\",\"pin\":\"sotto-p%c:%.*s\"}";
  CHECK(strncmp(other_pin, "sotto-pq:", 9) == 0, "%s", other_pin);
  table = opened(&callbacks, config(form, "hashes", 'q', 128, other_pin + 9));
  row_is(table, 5);
  sotto_close(table, NULL);
  table = opened(&callbacks, config(form, "hashes", 'k', 64, other_pin + 9));
  row_is(table, 6);
  sotto_close(table, NULL);
  char both[129];
  snprintf(both, sizeof both, "%.64s%.64s", pin + 9, other_pin + 73);
  refused(config(form, "words", 'q', 128, both), SOTTO_PEER, "no-ml-dsa-signature");
}

static void wrong_configurations(void) {
  const char *wrong[] = {
      "", "{", "[]", "7", "null", "{}", "{\"servers\":[],\"table\":\"words\"}", "{\"servers\":[\"here\"]}",
      "{\"servers\":\"here\",\"table\":\"words\"}", "{\"servers\":[\"here\"],\"table\":7}",
      "{\"servers\":[\"here\"],\"table\":\"No Name\"}", "{\"servers\":[\"here\"],\"table\":\"words\",\"pim\":\"x\"}",
      "{\"servers\":[\"here\",\"here\"],\"table\":\"words\"}", "{\"servers\":[\"here\"],\"table\":\"words\",\"max_wait\":NaN}",
      "{\"servers\":[\"here\"],\"table\":\"words\",\"max_wait\":1e999}", "{\"servers\":[\"here\"],\"table\":\"words\",\"max_wait\":1e300}",
      "{\"servers\":[\"here\"],\"table\":\"words\",\"max_wait\":-1}", "{\"servers\":[\"here\"],\"table\":\"words\",\"state\":\"/tmp/x\"}",
      "{\"servers\":[\"here\"],\"table\":\"words\",\"batch\":-1}", "{\"servers\":[\"\"],\"table\":\"words\"}", "\xff\xfe"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) refused(wrong[i], SOTTO_MISUSE, "misuse");
  char *deep = malloc(60001);
  memset(deep, '[', 60000);
  deep[60000] = 0;
  refused(deep, SOTTO_MISUSE, "misuse");
  free(deep);
  char *huge = calloc(1, (64 << 10) + 2);
  memset(huge, ' ', (64 << 10) + 1);
  refused(huge, SOTTO_MISUSE, "misuse");
  free(huge);
}

static void null_pointers_and_closed_tables(void) {
  struct callbacks callbacks = {.port = port};
  const char *json = "{\"servers\":[\"here\"],\"table\":\"words\"}";
  const uint8_t *bytes = (const uint8_t *)json;
  SottoTable table;
  sotto_error_free(&error);
  CHECK(sotto_open(NULL, 5, send_request, NULL, &callbacks, &table, &error) == SOTTO_MISUSE, "no configuration");
  sotto_error_free(&error);
  CHECK(sotto_open(bytes, strlen(json), NULL, NULL, &callbacks, &table, &error) == SOTTO_MISUSE, "no transport");
  sotto_error_free(&error);
  CHECK(sotto_open(bytes, strlen(json), send_request, NULL, &callbacks, NULL, NULL) == SOTTO_MISUSE, "no place for the table");
  CHECK(sotto_open(bytes, strlen(json), send_request, NULL, &callbacks, &table, NULL) == SOTTO_OK, "neither error nor progress are needed");
  SottoBuffer value = {0};
  int queries = callbacks.queries;
  CHECK(sotto_get_key(table, NULL, 3, &value, NULL) == SOTTO_MISUSE, "no key");
  CHECK(callbacks.queries == queries + 1, "what is no key is asked for all the same");
  CHECK(sotto_get_key(table, (const uint8_t *)"\xff", 1, &value, NULL) == SOTTO_MISUSE, "no UTF-8");
  CHECK(sotto_get_key(table, bytes, 1 << 20, &value, NULL) == SOTTO_MISUSE, "a key of a MiB");
  CHECK(sotto_get_key(table, NULL, 0, &value, NULL) == SOTTO_MISUSE, "the empty key, which no table has");
  CHECK(callbacks.queries == queries + 4, "%d asks", callbacks.queries - queries);
  CHECK(sotto_get_row(table, 0, NULL, NULL) == SOTTO_MISUSE, "no place for the value");
  CHECK(sotto_get_many(table, NULL, 0, NULL, NULL) == SOTTO_MISUSE, "no place for the values");
  CHECK(sotto_value_at(NULL, 0, NULL, NULL) == SOTTO_MISUSE, "no values");
  CHECK(sotto_reply_status(NULL, 200) == SOTTO_MISUSE && sotto_reply_body(NULL, bytes, 1) == SOTTO_MISUSE, "no reply");
  CHECK(sotto_reply_header(NULL, "a", "b") == SOTTO_MISUSE && sotto_reply_error(NULL, "a") == SOTTO_MISUSE, "no reply");
  sotto_free(NULL);
  sotto_error_free(NULL);
  CHECK(sotto_close(table, NULL) == SOTTO_OK, "close");
  CHECK(sotto_close(table, NULL) == SOTTO_MISUSE, "twice");
  CHECK(sotto_get_row(table, 0, &value, &error) == SOTTO_MISUSE && strstr(error.message, "closed"), "%s", error.json);
  sotto_error_free(&error);
  CHECK(sotto_about(0, &value, NULL) == SOTTO_MISUSE && sotto_last(~0ull, &value, NULL) == SOTTO_MISUSE, "no table");
}

static void no_silent_abort(void) {
  struct callbacks callbacks = {.port = port};
  SottoTable table = opened(&callbacks, "{\"servers\":[\"here\"],\"table\":\"hashes\"}");
  struct { const char *list; int32_t status; } wrong[] = {
      {"[7, -1]", SOTTO_ROW}, {"[1.5]", SOTTO_ROW}, {"[1e30]", SOTTO_ROW}, {"[18446744073709551616]", SOTTO_ROW},
      {"[64]", SOTTO_ROW}, {"[18446744073709551615]", SOTTO_ROW}, {"[null]", SOTTO_MISUSE}, {"[true]", SOTTO_MISUSE},
      {"[[1]]", SOTTO_MISUSE}, {"[NaN]", SOTTO_MISUSE}, {"[1e999]", SOTTO_MISUSE}, {"", SOTTO_MISUSE}, {"[7", SOTTO_MISUSE},
      {"[7, 3, 7]", SOTTO_OK}, {"[]", SOTTO_OK}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    SottoBuffer values;
    int queries = callbacks.queries;
    int32_t got = sotto_get_many(table, (const uint8_t *)wrong[i].list, strlen(wrong[i].list), &values, &error);
    CHECK(got == wrong[i].status, "%s: %d %s", wrong[i].list, got, error.json ? error.json : "");
    CHECK(callbacks.queries == queries + 1, "%s: %d asks", wrong[i].list, callbacks.queries - queries);
    sotto_free(&values);
    sotto_error_free(&error);
  }
  SottoBuffer value;
  CHECK(sotto_get_row(table, 64, &value, &error) == SOTTO_ROW, "past the end: %s", error.json);
  sotto_error_free(&error);
  sotto_close(table, NULL);
}

static void servers_that_vanish_and_lie(void) {
  struct callbacks callbacks = {.port = port};
  const char *json = "{\"servers\":[\"here\"],\"table\":\"hashes\",\"max_wait\":0.2}";
  SottoTable table = opened(&callbacks, json);
  SottoBuffer value;
  callbacks.port = 1;
  CHECK(sotto_get_row(table, 3, &value, &error) == SOTTO_NETWORK, "%s", error.json);
  CHECK(strstr(error.message, "nobody listens there"), "%s", error.json);
  sotto_error_free(&error);
  SottoTable none;
  CHECK(open_at(&callbacks, json, &none) == SOTTO_NETWORK, "%s", error.json);
  sotto_error_free(&error);
  callbacks.port = port;
  row_is(table, 3);
  for (callbacks.damages = 1; callbacks.damages <= 2; callbacks.damages++) {
    int32_t got = sotto_get_row(table, 3, &value, &error);
    CHECK(got == SOTTO_UNREADABLE || got == SOTTO_PEER, "lie %d: %d %s", callbacks.damages, got, error.json);
    CHECK(value.data == NULL, "a lie was handed out");
    sotto_error_free(&error);
  }
  callbacks.damages = 0;
  row_is(table, 3);
  callbacks.cancels = 1;
  CHECK(sotto_get_row(table, 3, &value, &error) == SOTTO_MISUSE && strcmp(error.code, "cancelled") == 0, "%s", error.json);
  sotto_error_free(&error);
  CHECK(open_at(&callbacks, json, &none) == SOTTO_MISUSE && strcmp(error.code, "cancelled") == 0, "%s", error.json);
  sotto_error_free(&error);
  callbacks.cancels = 0;
  row_is(table, 3);
  callbacks.calls_back = 1;
  row_is(table, 4);
  CHECK(callbacks.inside == SOTTO_MISUSE, "a callback got %d", callbacks.inside);
  callbacks.calls_back = 0;
  sotto_close(table, NULL);
}

static void storage(void) {
  struct callbacks callbacks = {.port = port};
  refused("{\"servers\":[\"here\"],\"table\":\"words\",\"cache\":\"/dev/null/cache\"}", SOTTO_STORAGE, "cache-io");
  const char *form = "{\"servers\":[\"here\"],\"table\":\"words\",\"cache\":\"%s/cache\"}";
  /* A disk that has no room for the hint: no file may grow past 4 KiB. */
  struct rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  SottoTable table;
  int32_t got = open_at(&callbacks, config(form, scratch), &table);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(got == SOTTO_STORAGE && callbacks.queries == 0, "%d %s", got, error.json);
  for (int i = 0; i < 2; i++) {
    table = opened(&callbacks, config(form, scratch));
    key_is(table, "sotto", "under");
    sotto_close(table, NULL);
  }

  /* Hints that are used up, in folders that the caller names. */
  const char *spent = "{\"servers\":[\"here\"],\"table\":\"spent\",\"state\":\"%s\",\"rollback_dir\":\"%s/rollback\"}";
  callbacks.queries = 0;
  CHECK(open_at(&callbacks, "{\"servers\":[\"here\"],\"table\":\"spent\"}", &table) == SOTTO_MISUSE, "%s", error.json);
  CHECK(strcmp(error.code, "state-needed") == 0, "%s", error.json);
  CHECK(open_at(&callbacks, config(spent, "/dev/null/state", scratch), &table) == SOTTO_STORAGE && callbacks.queries == 0, "%s", error.json);
  char state[256];
  snprintf(state, sizeof state, "%s/state", scratch);
  int before_budget = 0;
  for (int i = 0; i < 2; i++) {
    SottoBuffer about;
    table = opened(&callbacks, config(spent, state, scratch));
    row_is(table, 5);
    CHECK(sotto_about(table, &about, &error) == SOTTO_OK, "%s", error.json);
    char *text = strndup((char *)about.data, about.len), *budget = strstr(text, "\"budget\":");
    CHECK(budget && atoi(budget + 9) > 0 && (i == 0 || atoi(budget + 9) < before_budget), "%s", text);
    before_budget = atoi(budget + 9);
    free(text);
    sotto_free(&about);
    sotto_close(table, NULL);
  }
}

static SottoTable shared;
static void *asks_five(void *first) {
  for (uint64_t i = 0; i < 5; i++) row_is(shared, (uint64_t)(uintptr_t)first + i);
  return NULL;
}

static void several_threads(void) {
  struct callbacks callbacks = {.port = port};
  pthread_t threads[4];
  shared = opened(&callbacks, "{\"servers\":[\"here\"],\"table\":\"hashes\"}");
  for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, asks_five, (void *)(i * 10));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(callbacks.queries == 20, "%d asks", callbacks.queries);
  sotto_close(shared, NULL);
}

/* From here on this process dies where it asks the kernel for a socket. */
static void forbid_sockets(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(9);
}

static int status_of(void (*work)(void)) {
  int status, pid = fork();
  if (pid == 0) {
    forbid_sockets();
    work();
    _exit(0);
  }
  waitpid(pid, &status, 0);
  return status;
}

static struct helper helper;
static void looks_up_by_pipes(void) {
  struct callbacks callbacks = {.helper = &helper};
  SottoTable table = opened(&callbacks, "{\"servers\":[\"here\"],\"table\":\"hashes\"}");
  row_is(table, 7);
  CHECK(callbacks.queries == 1, "%d asks", callbacks.queries);
  sotto_close(table, NULL);
}
static void looks_up_by_sockets(void) {
  struct callbacks callbacks = {.port = port};
  opened(&callbacks, "{\"servers\":[\"here\"],\"table\":\"hashes\"}");
}

static void opens_no_socket(void) {
  CHECK(helper_start(&helper, port) == 0, "no helper");
  int status = status_of(looks_up_by_pipes);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a lookup without sockets ended with %x", (unsigned)status);
  helper_stop(&helper);
  /* The same with a transport that opens one: the ban is real. */
  status = status_of(looks_up_by_sockets);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "the ban did not hold: %x", (unsigned)status);
}

/* Appends a file, if it is there. */
static size_t append(const char *path, uint8_t **into, size_t len) {
  FILE *file = fopen(path, "rb");
  if (!file) return len;
  fseek(file, 0, SEEK_END);
  size_t more = (size_t)ftell(file);
  rewind(file);
  *into = realloc(*into, len + more + 1);
  CHECK(*into && fread(*into + len, 1, more, file) == more, "%s", path);
  fclose(file);
  (*into)[len + more] = 0;
  return len + more;
}

static void recorded_lookups(void) {
  glob_t found;
  CHECK(glob("../../spec/vectors/*.json", 0, NULL, &found) == 0 && found.gl_pathc > 20, "no vectors");
  for (size_t i = 0; i < found.gl_pathc; i++) {
    char path[4096], hex[3];
    uint8_t *vector = NULL;
    snprintf(path, sizeof path, "%s", found.gl_pathv[i]);
    size_t text = append(path, &vector, 0);
    const char *value = strstr((char *)vector, "\"value\": \"");
    CHECK(value, "%s has no value", path);
    size_t at = (size_t)(value - (char *)vector) + strlen("\"value\": \"");
    strcpy(path + strlen(path) - 4, "bin");
    size_t len = append(path, &vector, text);
    SottoBuffer row;
    CHECK(sotto_self_test(vector, len, &row, &error) == SOTTO_OK, "%s: %s", path, error.json);
    for (size_t j = 0; j < row.len; j++) {
      snprintf(hex, sizeof hex, "%02x", row.data[j]);
      CHECK(memcmp(hex, vector + at + 2 * j, 2) == 0, "%s: byte %zu", path, j);
    }
    CHECK(row.len > 0 && vector[at + 2 * row.len] == '"', "%s: %zu bytes", path, row.len);
    sotto_free(&row);
    CHECK(sotto_self_test(vector, text / 2, &row, &error) < 0 && !row.data, "half of %s", path);
    sotto_error_free(&error);
    free(vector);
  }
  globfree(&found);
  SottoBuffer row;
  CHECK(sotto_self_test(NULL, 5, &row, NULL) == SOTTO_MISUSE, "no vector");
  CHECK(sotto_self_test((const uint8_t *)"{}", 2, NULL, NULL) == SOTTO_MISUSE, "no place");
}

int main(int count, char **given) {
  if (count != 7) return fprintf(stderr, "abi PORT PIN OTHER_PIN SNAPSHOT SCRATCH WITNESS\n"), 2;
  port = (uint16_t)atoi(given[1]);
  pin = given[2], other_pin = given[3], snapshot = given[4], scratch = given[5], witness = given[6];
  /* A deadlock ends as one. */
  alarm(1200);
  opens_no_socket();
  recorded_lookups();
  finds_rows_and_keys();
  pins_and_snapshots();
  policies_and_two_signatures();
  wrong_configurations();
  null_pointers_and_closed_tables();
  no_silent_abort();
  servers_that_vanish_and_lie();
  storage();
  several_threads();
  sotto_error_free(&error);
  printf("%d checks hold\n", checks);
  return 0;
}
