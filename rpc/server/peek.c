/* The first bytes of a plain connection, looked at and left in the socket: HTTP/2 stays, a letter that cannot begin its preface goes to
 * HTTP/1.1, anything else is closed. Too few bytes to tell: SO_RCVLOWAT makes the socket readable only when there are enough, so that this
 * never spins; the handshake timer ends it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "rpc/server/inside.h"

#define TELLING 4 /* "PRI ": no method of HTTP/1.1 */

static void lowat_set(int fd, int bytes) { setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes); }

void rlx_rpc_conn_peek(rlx_rpc_conn_t *conn)
{
    uint8_t first[TELLING];
    ssize_t n = recv(conn->fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        rlx_rpc_conn_close(conn);
    } else if (memcmp(first, "PRI ", (size_t)n) == 0) {
        /* Unix sockets know no low-water mark: there a first piece of "P" is taken for HTTP/2. */
        if (conn->unix_socket)
            n = TELLING;
        lowat_set(conn->fd, n < TELLING ? TELLING : 1);
        if (n == TELLING)
            rlx_rpc_conn_begin(conn);
    } else if (((first[0] | 0x20) >= 'a' && (first[0] | 0x20) <= 'z') && conn->server->options.http != NULL) {
        lowat_set(conn->fd, 1);
        rlx_rpc_conn_detach(conn);
    } else {
        conn->server->counters.preface_bad++;
        rlx_rpc_conn_close(conn);
    }
}
