/* Keys and their files (bundle/key.h). What held a secret is wiped before it is given back. */
#include "bundle/key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/utf8.h"
#include "bundle/key_text.h"

#define PUBLIC_TITLE "RLX public key 1"
#define SECRET_TITLE "RLX secret key 1"
#define ID_BYTES 8

static void id_make(const uint8_t key[RLX_KEY_BYTES], uint8_t out_id[ID_BYTES])
{
    uint8_t digest[RLX_BLAKE2B_BYTES];

    rlx_digest_blake2b(key, RLX_KEY_BYTES, digest);
    memcpy(out_id, digest, ID_BYTES);
}

void rlx_key_id(const uint8_t key[RLX_KEY_BYTES], char out_id[RLX_KEY_ID_TEXT])
{
    uint8_t id[ID_BYTES];

    id_make(key, id);
    rlx_digest_hex(id, sizeof id, out_id);
}

rlx_status_t rlx_key_comment_check(const char *comment, rlx_diag_t *diag)
{
    bool good = strlen(comment) <= RLX_KEY_COMMENT_MAX && rlx_utf8_is_text(comment, strlen(comment));

    for (const char *at = comment; *at != '\0'; at++)
        good = good && (unsigned char)*at >= 32 && *at != 127;
    return good ? RLX_OK : rlx_fail(diag, RLX_E_USAGE, "the comment is no single line of at most %d bytes of printable UTF-8", RLX_KEY_COMMENT_MAX);
}

/* From the seed. */
static void pair_expand(rlx_secret_key_t *key)
{
    crypto_sign_seed_keypair(key->public_key.key, key->expanded, key->seed);
}

rlx_status_t rlx_secret_key_make(const char *comment, rlx_secret_key_t *out_key, rlx_diag_t *diag)
{
    if (sodium_init() < 0)
        return rlx_fail(diag, RLX_E_INTERNAL, "the system gives no random numbers");
    *out_key = (rlx_secret_key_t){0};
    randombytes_buf(out_key->seed, sizeof out_key->seed);
    pair_expand(out_key);
    snprintf(out_key->public_key.comment, sizeof out_key->public_key.comment, "%s", comment);
    return RLX_OK;
}

void rlx_secret_key_wipe(rlx_secret_key_t *key) { sodium_memzero(key, sizeof *key); }

/* The id in the file finds a damaged key, which would be another key otherwise. */
static rlx_status_t id_check(const char *name, const uint8_t key[RLX_KEY_BYTES], const uint8_t id[ID_BYTES], rlx_diag_t *diag)
{
    uint8_t own[ID_BYTES];

    id_make(key, own);
    if (memcmp(own, id, sizeof own) == 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_KEY_FILE, "the id is not that of the key: one of them was changed");
    return rlx_diag_at(diag, "%.200s", name);
}

static rlx_status_t end_check(rlx_key_lines_t *lines, rlx_diag_t *diag)
{
    if (!rlx_key_block_next(lines))
        return RLX_OK;
    rlx_fail(diag, RLX_E_KEY_FILE, "the file holds more than one key");
    return rlx_diag_at(diag, "%.200s:%d", lines->name, lines->line);
}

static bool begins_with(const char *text, size_t bytes, const char *title)
{
    return bytes >= strlen(title) && memcmp(text, title, strlen(title)) == 0;
}

rlx_status_t rlx_public_key_parse(const char *name, const char *text, size_t bytes, rlx_public_key_t *out_key, rlx_diag_t *diag)
{
    rlx_public_key_t key = {0};
    uint8_t id[ID_BYTES];
    rlx_key_field_t fields[] = {{.name = "comment", .text = key.comment, .n = RLX_KEY_COMMENT_MAX, .optional = true},
                                {.name = "id", .bytes = id, .n = sizeof id},
                                {.name = "ed25519", .bytes = key.key, .n = sizeof key.key}};
    rlx_key_lines_t lines = {name, text, text + bytes, 1};

    if (begins_with(text, bytes, SECRET_TITLE)) {
        rlx_fail(diag, RLX_E_KEY_FILE, "this is a secret key, where a public one is wanted");
        rlx_diag_hint(diag, "Whoever reads a secret key can sign. `rlx keygen --public FILE` prints the public one.");
        return rlx_diag_at(diag, "%.200s", name);
    }
    RLX_TRY(rlx_key_block_read(&lines, PUBLIC_TITLE, fields, 3, diag));
    RLX_TRY(end_check(&lines, diag));
    RLX_TRY(id_check(name, key.key, id, diag));
    *out_key = key;
    return RLX_OK;
}

static rlx_status_t secret_read(const char *name, const char *text, size_t bytes, rlx_secret_key_t *key, rlx_diag_t *diag)
{
    uint8_t id[ID_BYTES];
    rlx_key_field_t fields[] = {{.name = "comment", .text = key->public_key.comment, .n = RLX_KEY_COMMENT_MAX, .optional = true},
                                {.name = "id", .bytes = id, .n = sizeof id},
                                {.name = "ed25519-seed", .bytes = key->seed, .n = sizeof key->seed}};
    rlx_key_lines_t lines = {name, text, text + bytes, 1};

    if (begins_with(text, bytes, PUBLIC_TITLE)) {
        rlx_fail(diag, RLX_E_KEY_FILE, "this is a public key, and signing takes the secret one");
        return rlx_diag_at(diag, "%.200s", name);
    }
    RLX_TRY(rlx_key_block_read(&lines, SECRET_TITLE, fields, 3, diag));
    RLX_TRY(end_check(&lines, diag));
    pair_expand(key);
    return id_check(name, key->public_key.key, id, diag);
}

rlx_status_t rlx_secret_key_parse(const char *name, const char *text, size_t bytes, rlx_secret_key_t *out_key, rlx_diag_t *diag)
{
    rlx_secret_key_t key = {0};
    rlx_status_t status = secret_read(name, text, bytes, &key, diag);

    if (status == RLX_OK)
        *out_key = key;
    rlx_secret_key_wipe(&key);
    return status;
}

static void block_print(const char *title, const rlx_public_key_t *key, const char *name, const uint8_t *bytes, rlx_text_t *out)
{
    char id[RLX_KEY_ID_TEXT], hex[2 * RLX_KEY_BYTES + 1];

    rlx_key_id(key->key, id);
    rlx_digest_hex(bytes, RLX_KEY_BYTES, hex);
    rlx_text_printf(out, "%s\n", title);
    if (key->comment[0] != '\0')
        rlx_text_printf(out, "comment: %s\n", key->comment);
    rlx_text_printf(out, "id: %s\n%s: %s\n", id, name, hex);
    sodium_memzero(hex, sizeof hex);
}

void rlx_public_key_print(const rlx_public_key_t *key, rlx_text_t *out) { block_print(PUBLIC_TITLE, key, "ed25519", key->key, out); }

void rlx_secret_key_print(const rlx_secret_key_t *key, rlx_text_t *out)
{
    block_print(SECRET_TITLE, &key->public_key, "ed25519-seed", key->seed, out);
}

/* ---- Files */

rlx_status_t rlx_public_key_read(const char *path, rlx_public_key_t *out_key, rlx_diag_t *diag)
{
    size_t bytes;
    void *text;
    rlx_status_t status;

    RLX_TRY(rlx_file_read(path, RLX_KEY_FILE_MAX, &text, &bytes, diag));
    status = rlx_public_key_parse(path, text, bytes, out_key, diag);
    free(text);
    return status;
}

rlx_status_t rlx_secret_key_read(const char *path, rlx_secret_key_t *out_key, rlx_diag_t *diag)
{
    struct stat info;
    size_t bytes;
    void *text;
    rlx_status_t status;

    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        rlx_fail(diag, RLX_E_KEY_FILE, "the secret key may be read or written by others than its owner (mode %03o)", info.st_mode & 0777u);
        rlx_diag_at(diag, "%.200s", path);
        return rlx_diag_hint(diag, "chmod 600 it; if others had access to it, make a new pair and trust this one no longer.");
    }
    RLX_TRY(rlx_file_read(path, RLX_KEY_FILE_MAX, &text, &bytes, diag));
    status = rlx_secret_key_parse(path, text, bytes, out_key, diag);
    sodium_memzero(text, bytes);
    free(text);
    return status;
}

static rlx_status_t file_create(const char *path, mode_t mode, const rlx_text_t *text, rlx_diag_t *diag)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool written;

    if (fd < 0 && errno == EEXIST) {
        rlx_fail(diag, RLX_E_FILE_WRITE, "%s is there already, and keys are never replaced", path);
        return rlx_diag_hint(diag, "Give another name with -o NAME, or remove the old pair first.");
    }
    if (fd < 0)
        return rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
    written = !text->full && fchmod(fd, mode) == 0 && rlx_fd_write(fd, text->data, text->bytes) && fsync(fd) == 0;
    written = close(fd) == 0 && written;
    if (written)
        return RLX_OK;
    rlx_fail(diag, RLX_E_FILE_WRITE, "cannot write %s: %s", path, text->full ? "out of memory" : strerror(errno));
    (void)unlink(path);
    return diag != NULL ? diag->status : RLX_UNAVAILABLE;
}

static rlx_status_t files_create(char *secret_path, char *public_path, const rlx_text_t *secret, const rlx_text_t *public, rlx_diag_t *diag)
{
    rlx_status_t status = file_create(public_path, 0644, public, diag);

    if (status != RLX_OK)
        return status;
    status = file_create(secret_path, 0600, secret, diag);
    if (status != RLX_OK)
        (void)unlink(public_path);
    return status;
}

rlx_status_t rlx_key_pair_write(const char *prefix, const rlx_secret_key_t *key, rlx_diag_t *diag)
{
    char *secret_path = NULL, *public_path = NULL;
    rlx_text_t secret, public;
    rlx_status_t status;

    rlx_text_init(&secret, RLX_KEY_FILE_MAX);
    rlx_text_init(&public, RLX_KEY_FILE_MAX);
    rlx_secret_key_print(key, &secret);
    rlx_public_key_print(&key->public_key, &public);
    if (asprintf(&secret_path, "%s.key", prefix) < 0 || asprintf(&public_path, "%s.pub", prefix) < 0)
        status = rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    else
        status = files_create(secret_path, public_path, &secret, &public, diag);
    if (secret.data != NULL)
        sodium_memzero(secret.data, secret.bytes);
    rlx_text_fini(&secret);
    rlx_text_fini(&public);
    free(secret_path);
    free(public_path);
    return status;
}
