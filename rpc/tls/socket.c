/* Reads and writes by recv and send: OpenSSL's own way raises SIGPIPE, and signals belong to the program, not to a library. */
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpc/tls/context.h"

static int on_write(BIO *bio, const char *data, int bytes)
{
    ssize_t rc = send((int)(intptr_t)BIO_get_data(bio), data, (size_t)bytes, MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (rc < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)rc;
}

static int on_read(BIO *bio, char *to, int bytes)
{
    ssize_t rc = recv((int)(intptr_t)BIO_get_data(bio), to, (size_t)bytes, 0);

    BIO_clear_retry_flags(bio);
    if (rc < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)rc;
}

static long on_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* A table of functions that OpenSSL wants made at run time: one for the process, made by the first user, constant from then on. */
static BIO_METHOD *method;
static CRYPTO_ONCE method_once = CRYPTO_ONCE_STATIC_INIT;

static void method_make(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rlx socket");
    if (method == NULL)
        return;
    BIO_meth_set_write(method, on_write);
    BIO_meth_set_read(method, on_read);
    BIO_meth_set_ctrl(method, on_control);
}

bool rlx_rpc_tls_socket(SSL *ssl, int fd)
{
    BIO *bio;

    if (CRYPTO_THREAD_run_once(&method_once, method_make) != 1 || method == NULL || (bio = BIO_new(method)) == NULL)
        return false;
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}
