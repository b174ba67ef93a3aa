/* Keys, signatures and trust: what was signed is accepted, anything else is refused and told apart. tamper.c changes every byte. */
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "bundle/format.h"
#include "bundle/sign.h"
#include "bundle/trust.h"
#include "kernels/abi.h"
#include "tests/exec/program_builder.h"
#include "tests/unit/check.h"

static pb_t pb;
static char folder[256], path[300];
static rlx_secret_key_t alice, bob;
static uint8_t constants[3 << 20];

static const uint8_t code_a[] = {0xc3, 1, 2, 3}, code_b[] = {0xc3, 4, 5, 6};
static const rlx_bundle_entry_t entries[] = {{240, 0}};

static void file_make(const char *to, uint8_t fill, const uint8_t *code)
{
    const rlx_bundle_image_t images[] = {{"x86-64-v3", code, 4, entries, 1}};
    const rlx_ref_t dims[1] = {pb_number(1)};
    rlx_bundle_parts_t parts = {.name = "tiny", .compiler = "rlx test", .kernel_abi = RLX_KERNEL_ABI, .constants = constants,
                                .constants_bytes = sizeof constants, .ir_text = "graph tiny\n", .ir_text_bytes = 11, .images = images,
                                .n_images = 1};
    uint32_t y;

    pb_init(&pb);
    y = pb_value(&pb, RLX_VALUE_OUTPUT, "y", RLX_I32, 1, dims, pb_number(0), pb_number(4));
    pb_step(&pb, 240, 0, 1, &y, pb_number(1));
    pb_finish(&pb, pb_number(0), &parts.program_bytes);
    parts.program = pb.blob;
    memset(constants, fill, sizeof constants);
    assert_ok(rlx_bundle_write(to, &parts, &diag));
}

static void signed_make(const rlx_secret_key_t *key)
{
    int n;

    file_make(path, 1, code_a);
    assert_ok(rlx_bundle_sign(path, path, key, &n, &diag));
    assert_int_equal(n, 1);
}

static const char *in_folder(const char *name)
{
    static char text[512];

    snprintf(text, sizeof text, "%s/%s", folder, name);
    return text;
}

static void text_write(const char *name, const char *text, mode_t mode)
{
    assert_ok(rlx_file_write(in_folder(name), text, strlen(text), &diag));
    assert_int_equal(chmod(in_folder(name), mode), 0);
}

static void public_write(const char *name, const rlx_public_key_t *key)
{
    rlx_text_t text;

    rlx_text_init(&text, RLX_KEY_FILE_MAX);
    rlx_public_key_print(key, &text);
    assert_ok(rlx_file_write(in_folder(name), text.data, text.bytes, &diag));
    rlx_text_fini(&text);
}

static void bytes_put(off_t at, const void *data, size_t bytes)
{
    int fd = open(path, O_RDWR);

    assert_int_equal(pwrite(fd, data, bytes, at), bytes);
    close(fd);
}

static void header_get(rlx_bundle_header_t *header)
{
    int fd = open(path, O_RDONLY);

    assert_int_equal(pread(fd, header, sizeof *header, 0), sizeof *header);
    close(fd);
}

#define OPEN_REFUSED(code, word)                                                                              \
    do {                                                                                                      \
        rlx_bundle_t *refused_;                                                                               \
        assert_refused(rlx_bundle_open(path, RLX_BUNDLE_NO_STAMP | RLX_BUNDLE_SKIP_CODE, &refused_, &diag), code, word); \
    } while (0)

static rlx_status_t trusted(rlx_diag_t *diag)
{
    rlx_trust_t *trust;
    rlx_bundle_t *bundle;
    rlx_status_t status;

    RLX_TRY(rlx_trust_read(folder, &trust, diag));
    status = rlx_bundle_open(path, RLX_BUNDLE_NO_STAMP | RLX_BUNDLE_SKIP_CODE, &bundle, diag);
    if (status == RLX_OK) {
        status = rlx_bundle_trusted(bundle, trust, diag);
        rlx_bundle_close(bundle);
    }
    rlx_trust_free(trust);
    return status;
}

/* ---- Keys */

static void a_pair_of_files_comes_back_and_nothing_is_replaced(void **state)
{
    rlx_secret_key_t secret;
    rlx_public_key_t public;
    struct stat info;

    (void)state;
    assert_ok(rlx_key_pair_write(in_folder("pair"), &alice, &diag));
    assert_int_equal(stat(in_folder("pair.key"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_ok(rlx_secret_key_read(in_folder("pair.key"), &secret, &diag));
    assert_memory_equal(&secret, &alice, sizeof alice);
    assert_ok(rlx_public_key_read(in_folder("pair.pub"), &public, &diag));
    assert_memory_equal(&public, &alice.public_key, sizeof public);
    assert_refused(rlx_key_pair_write(in_folder("pair"), &bob, &diag), RLX_E_FILE_WRITE, "never replaced");
    unlink(in_folder("pair.pub"));
    assert_refused(rlx_key_pair_write(in_folder("pair"), &bob, &diag), RLX_E_FILE_WRITE, "pair.key is there already");
    assert_int_not_equal(access(in_folder("pair.pub"), F_OK), 0);
    assert_int_equal(chmod(in_folder("pair.key"), 0640), 0);
    assert_refused(rlx_secret_key_read(in_folder("pair.key"), &secret, &diag), RLX_E_KEY_FILE, "mode 640");
    unlink(in_folder("pair.key"));
}

static void key_files_that_are_not_as_they_must_be_are_refused_with_their_line(void **state)
{
    static const struct { const char *text, *where, *word; } cases[] = {
        {"", "f:1", "empty"},
        {"hello\n", "f:1", "RLX public key 1"},
        {"RLX public key 2\n", "f:1", "RLX public key 1"},
        {"RLX secret key 1\n", "f", "secret key"},
        {"RLX public key 1\nid: 0011223344556677\n", "f:3", "'ed25519' is missing"},
        {"RLX public key 1\nid: 00112233445566\n", "f:2", "16 hexadecimal digits"},
        {"RLX public key 1\nid: 001122334455667x\n", "f:2", "16 hexadecimal digits"},
        {"RLX public key 1\nid: 0011223344556677\nid: 0011223344556677\n", "f:3", "stands twice"},
        {"RLX public key 1\n\nkeyid: 0011223344556677\n", "f:3", "none that this program knows"},
        {"RLX public key 1\nnonsense\n", "f:2", "name: value"},
        {"RLX public key 1\ncomment: \x1b[31m\n", "f:2", "printable"},
        {"RLX public key 1\r\nid: 0011223344556677\r\ned25519: 00000000000000000000000000000000000000000000000000000000000000ff\r\n", "f",
         "id is not that of the key"},
    };
    rlx_public_key_t key;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlx_diag_t diag = {0};

        assert_int_not_equal(rlx_public_key_parse("f", cases[i].text, strlen(cases[i].text), &key, &diag), RLX_OK);
        assert_int_equal(diag.code, RLX_E_KEY_FILE);
        assert_string_equal(diag.where, cases[i].where);
        if (strstr(diag.message, cases[i].word) == NULL)
            fail_msg("'%s' does not say '%s'", diag.message, cases[i].word);
    }
}

/* ---- Signed bundles */

static void a_signature_is_over_all_and_several_may_stand(void **state)
{
    const rlx_bundle_signature_t *signatures;
    uint8_t first[RLX_BUNDLE_DIGEST];
    rlx_bundle_t *bundle;
    int n;

    (void)state;
    signed_make(&alice);
    assert_ok(rlx_bundle_open(path, RLX_BUNDLE_SKIP_CODE, &bundle, &diag));
    signatures = rlx_bundle_signatures(bundle, &n);
    assert_int_equal(n, 1);
    assert_memory_equal(signatures[0].key, alice.public_key.key, 32);
    memcpy(first, rlx_bundle_file_digest(bundle), sizeof first);
    rlx_bundle_close(bundle);
    assert_ok(rlx_bundle_sign(path, path, &bob, &n, &diag));
    assert_int_equal(n, 2);
    assert_ok(rlx_bundle_sign(path, path, &alice, &n, &diag)); /* not twice */
    assert_int_equal(n, 2);
    assert_ok(rlx_bundle_open(path, RLX_BUNDLE_SKIP_CODE, &bundle, &diag));
    signatures = rlx_bundle_signatures(bundle, &n);
    assert_int_equal(n, 2);
    assert_memory_equal(signatures[1].key, bob.public_key.key, 32);
    assert_memory_not_equal(first, rlx_bundle_file_digest(bundle), sizeof first);
    rlx_bundle_close(bundle);
}

static void no_more_than_sixteen_signatures_stand(void **state)
{
    rlx_secret_key_t key;
    int n;

    (void)state;
    file_make(path, 1, code_a);
    for (int i = 1; i <= RLX_BUNDLE_SIGNATURES_MAX; i++) {
        assert_ok(rlx_secret_key_make("", &key, &diag));
        assert_ok(rlx_bundle_sign(path, path, &key, &n, &diag));
        assert_int_equal(n, i);
    }
    assert_refused(rlx_bundle_sign(path, path, &alice, &n, &diag), RLX_E_USAGE, "no more fit");
}

static void a_damaged_bundle_is_not_signed(void **state)
{
    int n;

    (void)state;
    file_make(path, 1, code_a);
    bytes_put(4096 * 4 + 1000000, "x", 1);
    assert_refused(rlx_bundle_sign(path, path, &alice, &n, &diag), RLX_E_BUNDLE_DIGEST, "'constants'");
}

static void only_a_signature_of_a_trusted_key_is_accepted(void **state)
{
    (void)state;
    signed_make(&alice);
    assert_refused(trusted(&diag), RLX_E_BUNDLE_UNTRUSTED, "none of the 0 trusted keys");
    public_write("bob.pub", &bob.public_key);
    assert_refused(trusted(&diag), RLX_E_BUNDLE_UNTRUSTED, "none of the 1 trusted keys");
    public_write("alice.pub", &alice.public_key);
    assert_ok(trusted(&diag));
    unlink(in_folder("alice.pub")); /* taken away again */
    assert_refused(trusted(&diag), RLX_E_BUNDLE_UNTRUSTED, "none of the 1 trusted keys");
    file_make(path, 1, code_a);
    assert_refused(trusted(&diag), RLX_E_BUNDLE_UNTRUSTED, "not signed");
    unlink(in_folder("bob.pub"));
}

static void the_folder_of_trusted_keys_leaves_out_what_is_none(void **state)
{
    rlx_trust_t *trust;

    (void)state;
    public_write("alice.pub", &alice.public_key);
    public_write(".hidden.pub", &bob.public_key);
    public_write("bob.txt", &bob.public_key);
    text_write("broken.pub", "RLX public key 1\nid: zz\n", 0644);
    assert_ok(rlx_trust_read(folder, &trust, &diag));
    assert_int_equal(rlx_trust_count(trust), 1);
    assert_non_null(strstr(rlx_trust_left_out(trust), "broken.pub:2"));
    assert_null(rlx_trust_find(trust, bob.public_key.key));
    rlx_trust_free(trust);
    assert_int_equal(chmod(in_folder("alice.pub"), 0666), 0); /* anybody could have put a key there */
    assert_ok(rlx_trust_read(folder, &trust, &diag));
    assert_int_equal(rlx_trust_count(trust), 0);
    rlx_trust_free(trust);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_refused(rlx_trust_read(folder, &trust, &diag), RLX_E_KEY_FILE, "everybody may write");
    assert_int_equal(chmod(folder, 0700), 0);
    assert_refused(rlx_trust_read(in_folder("absent"), &trust, &diag), RLX_E_FILE_OPEN, "absent");
    unlink(in_folder("alice.pub"));
    unlink(in_folder(".hidden.pub"));
    unlink(in_folder("bob.txt"));
    unlink(in_folder("broken.pub"));
}

/* ---- Attacks that keep every digest right, as far as they go */

/* Writes the manifest anew, its digest too. Only the signature can tell. */
static void manifest_forge(void (*forge)(rlx_bundle_manifest_t *manifest, rlx_bundle_header_t *header))
{
    uint8_t data[4096], *packed;
    rlx_bundle_manifest_t manifest;
    rlx_bundle_header_t header;
    size_t bytes;
    int fd = open(path, O_RDWR);

    header_get(&header);
    assert_int_equal(pread(fd, data, header.manifest_bytes, 4096), header.manifest_bytes);
    assert_ok(rlx_bundle_manifest_decode(data, header.manifest_bytes, &manifest, &diag));
    forge(&manifest, &header);
    assert_ok(rlx_bundle_manifest_encode(&manifest, &packed, &bytes, &diag));
    memset(data, 0, sizeof data);
    memcpy(data, packed, bytes);
    header.manifest_bytes = (uint32_t)bytes;
    rlx_digest_blake2b(packed, bytes, header.manifest_digest);
    assert_int_equal(pwrite(fd, data, sizeof data, 4096), sizeof data);
    assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    free(packed);
    rlx_bundle_manifest_fini(&manifest);
}

static void forge_version(rlx_bundle_manifest_t *manifest, rlx_bundle_header_t *header) { header->minor = (uint16_t)(manifest->format_minor = 0); }
static void forge_abi(rlx_bundle_manifest_t *manifest, rlx_bundle_header_t *header) { (void)header; manifest->kernel_abi--; }
static void forge_name(rlx_bundle_manifest_t *manifest, rlx_bundle_header_t *header) { (void)header; manifest->name = "mine"; }

static const rlx_bundle_segment_t *segment_of(const rlx_bundle_manifest_t *manifest, const char *kind)
{
    for (int i = 0; i < manifest->n_segments; i++)
        if (strcmp(manifest->segments[i].kind, kind) == 0)
            return &manifest->segments[i];
    return NULL;
}

static void forge_code(rlx_bundle_manifest_t *manifest, rlx_bundle_header_t *header)
{
    rlx_bundle_segment_t *segment = (rlx_bundle_segment_t *)(uintptr_t)segment_of(manifest, "code");
    uint8_t data[8192];
    int fd = open(path, O_RDWR);

    (void)header;
    assert_true(segment->bytes <= sizeof data);
    assert_int_equal(pread(fd, data, segment->bytes, (off_t)segment->offset), segment->bytes);
    memcpy(data + segment->bytes - 4, code_b, 4); /* the image: its last bytes */
    assert_int_equal(pwrite(fd, data, segment->bytes, (off_t)segment->offset), segment->bytes);
    assert_true(rlx_bundle_digest_tree(data, segment->bytes, 1, segment->digest));
    close(fd);
}

static void forged_manifests_do_not_fit_their_signature(void **state)
{
    static void (*const forges[])(rlx_bundle_manifest_t *, rlx_bundle_header_t *) = {forge_version, forge_abi, forge_name, forge_code};

    (void)state;
    for (size_t i = 0; i < sizeof forges / sizeof *forges; i++) {
        signed_make(&alice);
        manifest_forge(forges[i]);
        OPEN_REFUSED(RLX_E_BUNDLE_SIGNATURE, "signature 1 of 1");
    }
}

static void a_downgraded_version_is_refused(void **state)
{
    uint16_t minor = 0, major = 0;

    (void)state;
    signed_make(&alice);
    bytes_put(10, &minor, sizeof minor);
    OPEN_REFUSED(RLX_E_BUNDLE_MALFORMED, "different versions, 1.0 and 1.1");
    signed_make(&alice);
    bytes_put(8, &major, sizeof major);
    OPEN_REFUSED(RLX_E_BUNDLE_VERSION, "format 0.1");
}

static void a_replaced_code_image_is_named(void **state)
{
    rlx_bundle_t *bundle;
    uint64_t at = 0;
    int n;

    (void)state;
    signed_make(&alice);
    assert_ok(rlx_bundle_open(path, RLX_BUNDLE_SKIP_CODE, &bundle, &diag));
    for (const rlx_bundle_segment_t *segment = rlx_bundle_segments(bundle, &n), *end = segment + n; segment < end; segment++)
        if (strcmp(segment->kind, "code") == 0)
            at = segment->offset + segment->bytes - sizeof code_b;
    rlx_bundle_close(bundle);
    bytes_put((off_t)at, code_b, sizeof code_b);
    OPEN_REFUSED(RLX_E_BUNDLE_DIGEST, "the code image for x86-64-v3 differs from its digest: MiB 1 of 1");
    assert_refused(rlx_bundle_open(path, RLX_BUNDLE_NO_STAMP, &bundle, &diag), RLX_E_BUNDLE_DIGEST, "the code image for x86-64-v3");
}

/* The same place and size: the constants of another bundle, signed by the same key. */
static void a_swapped_segment_is_named_with_every_mib(void **state)
{
    char other[320];
    void *file;
    size_t bytes;

    (void)state;
    signed_make(&alice);
    snprintf(other, sizeof other, "%s.other", path);
    file_make(other, 2, code_a);
    assert_ok(rlx_file_read(other, (size_t)8 << 20, &file, &bytes, &diag));
    bytes_put(4096 * 4, (char *)file + 4096 * 4, sizeof constants);
    free(file);
    unlink(other);
    OPEN_REFUSED(RLX_E_BUNDLE_DIGEST, "segment 'constants' differs from its digest: MiB 1 of 3 (bytes 16384 to 1064959 of the file), 2 of 3");
}

static void a_signature_of_another_bundle_does_not_fit(void **state)
{
    rlx_bundle_header_t one, other;

    (void)state;
    signed_make(&alice);
    header_get(&one);
    file_make(path, 3, code_a);
    header_get(&other);
    memcpy((char *)&other + RLX_BUNDLE_SIGNED_BYTES, (char *)&one + RLX_BUNDLE_SIGNED_BYTES, sizeof one - RLX_BUNDLE_SIGNED_BYTES);
    bytes_put(0, &other, sizeof other);
    OPEN_REFUSED(RLX_E_BUNDLE_SIGNATURE, "does not fit");
}

/* S + L is the same point: a lenient verifier would take a second form of each signature. */
static void a_signature_has_one_form_only(void **state)
{
    static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
                                      0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};
    rlx_bundle_header_t header;
    unsigned carry = 0;

    (void)state;
    signed_make(&alice);
    header_get(&header);
    for (int i = 0; i < 32; i++) {
        carry += header.signatures[0].signature[32 + i] + order[i];
        header.signatures[0].signature[32 + i] = (uint8_t)carry;
        carry >>= 8;
    }
    bytes_put(0, &header, sizeof header);
    OPEN_REFUSED(RLX_E_BUNDLE_SIGNATURE, "does not fit");
}

static void a_cut_or_longer_file_is_told(void **state)
{
    struct stat info;

    (void)state;
    signed_make(&alice);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 1), 0);
    OPEN_REFUSED(RLX_E_BUNDLE_MALFORMED, "it was cut off");
    signed_make(&alice);
    assert_int_equal(truncate(path, info.st_size + 1), 0);
    OPEN_REFUSED(RLX_E_BUNDLE_MALFORMED, "it was made longer");
}

/* ---- Sources */

static void signatures_of_a_source_come_back_and_fit_it_alone(void **state)
{
    rlx_source_signatures_t signatures = {0}, again;
    uint8_t digest[32], other[32];
    char file[320];

    (void)state;
    snprintf(file, sizeof file, "%s.sig", path);
    memset(digest, 1, sizeof digest);
    memset(other, 2, sizeof other);
    assert_ok(rlx_source_signatures_add(&signatures, digest, &alice, &diag));
    assert_ok(rlx_source_signatures_add(&signatures, digest, &bob, &diag));
    assert_ok(rlx_source_signatures_add(&signatures, digest, &alice, &diag));
    assert_int_equal(signatures.n, 2);
    assert_ok(rlx_source_signatures_write(file, digest, &signatures, &diag));
    assert_ok(rlx_source_signatures_read(file, digest, &again, &diag));
    assert_int_equal(again.n, 2);
    assert_memory_equal(again.items, signatures.items, 2 * sizeof *again.items);
    assert_string_equal(again.comments[0], "alice's");
    assert_refused(rlx_source_signatures_read(file, other, &again, &diag), RLX_E_BUNDLE_SIGNATURE, "not what key");
    signatures.items[1].signature[40] ^= 1;
    assert_ok(rlx_source_signatures_write(file, digest, &signatures, &diag));
    assert_refused(rlx_source_signatures_read(file, digest, &again, &diag), RLX_E_BUNDLE_SIGNATURE, "does not fit the source");
    unlink(file);
}

static int group_setup(void **state)
{
    rlx_diag_t diag = {0};

    (void)state;
    unsetenv("RLX_CACHE_DIR");
    snprintf(path, sizeof path, "%s", scratch_path("sign.rlxb"));
    snprintf(folder, sizeof folder, "%s", scratch_path("keys"));
    return mkdir(folder, 0700) == 0 && rlx_secret_key_make("alice's", &alice, &diag) == RLX_OK &&
                   rlx_secret_key_make("", &bob, &diag) == RLX_OK ? 0 : -1;
}

static int group_teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_of_files_comes_back_and_nothing_is_replaced),
        cmocka_unit_test(key_files_that_are_not_as_they_must_be_are_refused_with_their_line),
        cmocka_unit_test(a_signature_is_over_all_and_several_may_stand),
        cmocka_unit_test(no_more_than_sixteen_signatures_stand),
        cmocka_unit_test(a_damaged_bundle_is_not_signed),
        cmocka_unit_test(only_a_signature_of_a_trusted_key_is_accepted),
        cmocka_unit_test(the_folder_of_trusted_keys_leaves_out_what_is_none),
        cmocka_unit_test(forged_manifests_do_not_fit_their_signature),
        cmocka_unit_test(a_downgraded_version_is_refused),
        cmocka_unit_test(a_replaced_code_image_is_named),
        cmocka_unit_test(a_swapped_segment_is_named_with_every_mib),
        cmocka_unit_test(a_signature_of_another_bundle_does_not_fit),
        cmocka_unit_test(a_signature_has_one_form_only),
        cmocka_unit_test(a_cut_or_longer_file_is_told),
        cmocka_unit_test(signatures_of_a_source_come_back_and_fit_it_alone),
    };

    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
