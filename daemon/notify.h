/* What systemd is told (sd_notify's protocol: datagrams to $NOTIFY_SOCKET). Without that variable every call does nothing. Never blocks.
 *
 * The socket takes few datagrams at a time. A state (READY, RELOADING, STOPPING) must arrive, so what cannot be sent waits in order and the
 * caller tries again; a hint (WATCHDOG, EXTEND_TIMEOUT_USEC, STATUS) is dropped: the next one is as good. Loop thread. */
#ifndef RLX_DAEMON_NOTIFY_H
#define RLX_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

#define RLX_NOTIFY_BYTES 512
#define RLX_NOTIFY_WAITING_MAX 8 /* when full the oldest goes: what came later says more */

typedef struct rlx_notify {
    int fd;               /* -1: nobody listens */
    uint64_t watchdog_us; /* a ping is due within this; 0: no watchdog */
    char waiting[RLX_NOTIFY_WAITING_MAX][RLX_NOTIFY_BYTES];
    int n_waiting;
} rlx_notify_t;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment. */
void rlx_notify_init(rlx_notify_t *out_notify);
void rlx_notify_fini(rlx_notify_t *notify);
/* "READY=1\nSTATUS=..." as printf writes it, at most RLX_NOTIFY_BYTES - 1 bytes. */
void rlx_notify_state(rlx_notify_t *notify, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rlx_notify_hint(rlx_notify_t *notify, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends what waits. True: something still does, try again soon. */
bool rlx_notify_retry(rlx_notify_t *notify);

#endif
