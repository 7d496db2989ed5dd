/* The value of a word in the table `words` of a server on this machine: word PORT PIN WORD
 *
 *   cc word.c ../tests/http.c $(pkg-config --cflags --libs sotto) -o word */
#include <sotto.h>
#include "../tests/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request to the server; the library opens no socket. */
static int32_t send_request(void *context, const SottoRequest *sent, SottoReply *reply) {
  struct request request = {.body = (uint8_t *)sent->body, .body_len = sent->body_len};
  struct response response = {0};
  const char *why;
  snprintf(request.method, sizeof request.method, "%s", sent->method);
  snprintf(request.path, sizeof request.path, "%s", sent->path);
  if (sent->range) snprintf(request.range, sizeof request.range, "%s", sent->range);
  if (sent->content_type) snprintf(request.content_type, sizeof request.content_type, "%s", sent->content_type);
  if (http_call(*(uint16_t *)context, &request, &response, &why) != 0) {
    sotto_reply_error(reply, why);
    free(response.body);
    return SOTTO_NETWORK;
  }
  sotto_reply_status(reply, (uint16_t)response.status);
  if (response.retry_after[0]) sotto_reply_header(reply, "Retry-After", response.retry_after);
  sotto_reply_body(reply, response.body, response.body_len);
  free(response.body);
  return SOTTO_OK;
}

static int complain(SottoError *error) {
  fprintf(stderr, "%s; %s\n", error->message, error->fix);
  sotto_error_free(error);
  return 1;
}

int main(int argc, char **argv) {
  SottoTable table;
  SottoBuffer value;
  SottoError error;
  char config[512];
  if (argc != 4) return 2;
  uint16_t port = (uint16_t)atoi(argv[1]);
  snprintf(config, sizeof config, "{\"servers\": [\"http://127.0.0.1:%u\"], \"table\": \"words\", \"pin\": \"%s\"}", port, argv[2]);
  if (sotto_open((const uint8_t *)config, strlen(config), send_request, NULL, &port, &table, &error) < 0) return complain(&error);
  int32_t found = sotto_get_key(table, (const uint8_t *)argv[3], strlen(argv[3]), &value, &error);
  if (found < 0) return complain(&error);
  printf("%.*s\n", found == SOTTO_ABSENT ? 0 : (int)value.len, found == SOTTO_ABSENT ? "" : (const char *)value.data);
  if (found == SOTTO_OK) sotto_free(&value);
  return sotto_close(table, &error) < 0 ? complain(&error) : 0;
}
