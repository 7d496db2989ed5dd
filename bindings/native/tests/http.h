/* A transport of plain sockets, which is the test's and not the library's: one HTTP/1.1 request to a connection. */
#ifndef TEST_HTTP_H
#define TEST_HTTP_H

#include <stddef.h>
#include <stdint.h>

/* What is sent. Texts that are NULL are left out. */
struct request {
  char method[8];
  char path[512];
  char range[64];
  char content_type[64];
  uint8_t *body;
  size_t body_len;
};

/* What came back. */
struct response {
  int status;
  char retry_after[32];
  char server_timing[256];
  uint8_t *body;
  size_t body_len;
};

/* Sends a request to `port` of this machine. Gives 0, or -1 and a sentence. `response->body` is to be freed. */
int http_call(uint16_t port, const struct request *request, struct response *response, const char **why);

/* The same, done by another process at the other end of two pipes: for a process that may open no socket. */
struct helper {
  int to, from;
  int pid;
};
int helper_start(struct helper *helper, uint16_t port);
int helper_call(struct helper *helper, const struct request *request, struct response *response);
void helper_stop(struct helper *helper);

#endif
