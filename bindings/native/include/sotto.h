#ifndef SOTTO_H
#define SOTTO_H
#include <stddef.h>
#include <stdint.h>
#define SOTTO_OK 0
#define SOTTO_ABSENT 1
#define SOTTO_NEWER 2
#define SOTTO_MISUSE -1
#define SOTTO_ROW -2
#define SOTTO_PARAMS -3
#define SOTTO_PEER -4
#define SOTTO_NETWORK -5
#define SOTTO_TIMEOUT -6
#define SOTTO_STORAGE -7
#define SOTTO_UNREADABLE -8
#define SOTTO_MACHINE -9
#define SOTTO_CANCELLED -10
typedef struct SottoReply SottoReply;
typedef uint64_t SottoTable;
typedef struct SottoBuffer { uint8_t *data; size_t len; } SottoBuffer;
typedef struct SottoError { int32_t status; char *code, *message, *fix, *json; } SottoError;
typedef struct SottoRequest { uint32_t server; const char *method, *path, *range, *content_type; const uint8_t *body; size_t body_len; uint64_t limit; } SottoRequest;
typedef int32_t (*SottoTransport)(void *, const SottoRequest *, SottoReply *);
typedef void (*SottoProgress)(void *, const char *, uint64_t, uint64_t);
const char *sotto_version(void);
int32_t sotto_open(const uint8_t *, size_t, SottoTransport, SottoProgress, void *, SottoTable *, SottoError *);
int32_t sotto_close(SottoTable, SottoError *);
int32_t sotto_get_row(SottoTable, uint64_t, SottoBuffer *, SottoError *);
int32_t sotto_get_key(SottoTable, const uint8_t *, size_t, SottoBuffer *, SottoError *);
int32_t sotto_get_many(SottoTable, const uint8_t *, size_t, SottoBuffer *, SottoError *);
int32_t sotto_value_at(const SottoBuffer *, size_t, const uint8_t **, size_t *);
int32_t sotto_last(SottoTable, SottoBuffer *, SottoError *);
int32_t sotto_about(SottoTable, SottoBuffer *, SottoError *);
int32_t sotto_refresh(SottoTable, SottoError *);
void sotto_free(SottoBuffer *);
void sotto_error_free(SottoError *);
int32_t sotto_reply_status(SottoReply *, uint16_t);
int32_t sotto_reply_header(SottoReply *, const char *, const char *);
int32_t sotto_reply_body(SottoReply *, const uint8_t *, size_t);
int32_t sotto_reply_error(SottoReply *, const char *);
#endif
