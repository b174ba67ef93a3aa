/* What systemd is told (sd_notify's protocol: datagrams to $NOTIFY_SOCKET). Without that variable every call does nothing. Loop thread. */
#ifndef RLX_DAEMON_NOTIFY_H
#define RLX_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rlx_notify {
    int fd;               /* -1: nobody listens */
    uint64_t watchdog_us; /* a ping is due within this; 0: no watchdog */
} rlx_notify_t;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment. */
void rlx_notify_init(rlx_notify_t *out_notify);
void rlx_notify_fini(rlx_notify_t *notify);
/* "READY=1\nSTATUS=..." as printf writes it, at most 1,023 bytes. Never blocks; what cannot be sent is dropped. */
void rlx_notify_send(const rlx_notify_t *notify, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
