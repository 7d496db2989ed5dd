#define _GNU_SOURCE
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_all(int fd, const void *data, size_t len) {
  const uint8_t *at = data;
  while (len > 0) {
    ssize_t wrote = write(fd, at, len);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return -1;
    at += wrote;
    len -= (size_t)wrote;
  }
  return 0;
}

static int read_all(int fd, void *data, size_t len) {
  uint8_t *at = data;
  while (len > 0) {
    ssize_t got = read(fd, at, len);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    at += got;
    len -= (size_t)got;
  }
  return 0;
}

/* Everything up to the end of the connection. */
static uint8_t *read_to_end(int fd, size_t *len) {
  size_t room = 1 << 16;
  uint8_t *all = malloc(room);
  *len = 0;
  for (;;) {
    if (*len + 1 == room) all = realloc(all, room *= 2);
    ssize_t got = read(fd, all + *len, room - *len - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) *len = 0;
    if (got <= 0) break;
    *len += (size_t)got;
  }
  all[*len] = 0;
  return all;
}

static void header(const char *line, const char *name, char *out, size_t room) {
  size_t len = strlen(name);
  if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
    line += len + 1;
    while (*line == ' ') line++;
    snprintf(out, room, "%.*s", (int)strcspn(line, "\r"), line);
  }
}

int http_call(uint16_t port, const struct request *request, struct response *response, const char **why) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  memset(response, 0, sizeof *response);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  *why = "there is no socket";
  if (fd < 0) return -1;
  *why = "nobody listens there";
  if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) return close(fd), -1;

  char head[1024];
  int len = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: %zu\r\n",
                     request->method, request->path, request->body_len);
  if (request->range[0]) len += snprintf(head + len, sizeof head - (size_t)len, "range: %s\r\n", request->range);
  if (request->content_type[0])
    len += snprintf(head + len, sizeof head - (size_t)len, "content-type: %s\r\n", request->content_type);
  len += snprintf(head + len, sizeof head - (size_t)len, "\r\n");
  *why = "the connection broke";
  if (write_all(fd, head, (size_t)len) || write_all(fd, request->body, request->body_len)) return close(fd), -1;

  size_t got;
  char *all = (char *)read_to_end(fd, &got);
  close(fd);
  char *end = got ? strstr(all, "\r\n\r\n") : NULL;
  if (!end || sscanf(all, "HTTP/1.1 %d", &response->status) != 1) return free(all), -1;
  for (char *line = strstr(all, "\r\n"); line && line < end; line = strstr(line + 2, "\r\n")) {
    header(line + 2, "retry-after", response->retry_after, sizeof response->retry_after);
    header(line + 2, "server-timing", response->server_timing, sizeof response->server_timing);
  }
  response->body_len = got - (size_t)(end + 4 - all);
  response->body = malloc(response->body_len + 1);
  memcpy(response->body, end + 4, response->body_len);
  free(all);
  return 0;
}

int helper_start(struct helper *helper, uint16_t port) {
  int there[2], back[2];
  if (pipe(there) || pipe(back)) return -1;
  helper->pid = fork();
  if (helper->pid != 0) {
    close(there[0]);
    close(back[1]);
    helper->to = there[1];
    helper->from = back[0];
    return helper->pid < 0 ? -1 : 0;
  }
  close(there[1]);
  close(back[0]);
  struct request request;
  struct response response;
  while (read_all(there[0], &request, sizeof request) == 0) {
    const char *why;
    request.body = malloc(request.body_len + 1);
    if (read_all(there[0], request.body, request.body_len)) break;
    if (http_call(port, &request, &response, &why)) response.status = 0;
    if (write_all(back[1], &response, sizeof response) || write_all(back[1], response.body, response.body_len)) break;
    free(request.body);
    free(response.body);
  }
  _exit(0);
}

int helper_call(struct helper *helper, const struct request *request, struct response *response) {
  if (write_all(helper->to, request, sizeof *request) || write_all(helper->to, request->body, request->body_len)) return -1;
  if (read_all(helper->from, response, sizeof *response)) return -1;
  response->body = malloc(response->body_len + 1);
  return read_all(helper->from, response->body, response->body_len) || response->status == 0 ? -1 : 0;
}

void helper_stop(struct helper *helper) {
  close(helper->to);
  close(helper->from);
  waitpid(helper->pid, NULL, 0);
}
