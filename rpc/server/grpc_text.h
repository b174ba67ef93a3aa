/* gRPC's small notations, for both ends: timeouts, percent-encoded messages, the five bytes before a message. Pure functions. */
#ifndef RLX_RPC_SERVER_GRPC_TEXT_H
#define RLX_RPC_SERVER_GRPC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLX_GRPC_PREFIX 5 /* compressed flag, big-endian length */

/* "250m": one to eight digits and a unit of H M S m u n. False, and nothing written, for anything else. */
bool rlx_grpc_timeout_parse(const char *text, size_t bytes, uint64_t *out_ns);

/* Percent-encodes everything outside ' '..'~' and '%'. Writes at most `room` bytes with the NUL; a text that does not fit is cut before an
 * escape or between characters. Returns the length. */
size_t rlx_grpc_message_encode(const char *text, char *out, size_t room);

static inline void rlx_grpc_prefix_encode(uint8_t out[RLX_GRPC_PREFIX], uint32_t bytes)
{
    out[0] = 0;
    out[1] = (uint8_t)(bytes >> 24);
    out[2] = (uint8_t)(bytes >> 16);
    out[3] = (uint8_t)(bytes >> 8);
    out[4] = (uint8_t)bytes;
}

static inline uint32_t rlx_grpc_prefix_bytes(const uint8_t prefix[RLX_GRPC_PREFIX])
{
    return (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 | (uint32_t)prefix[3] << 8 | prefix[4];
}

#endif
