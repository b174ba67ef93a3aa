/* Zip by its central directory, as the format asks: local headers are only used to find the data behind them.
 *
 * Invariant: no offset or length is used before it was compared with the archive's size, in 64 bits. Spanned and encrypted archives and
 * methods other than stored and deflated are refused. */
#include "base/zip.h"

#include <string.h>
#include <zlib.h>

#define ZIP_END_BYTES 22
#define ZIP_COMMENT_MAX 65535
#define ZIP_DEFLATE_RATIO_MAX 1040 /* deflate cannot do better than 1032:1 */

static uint64_t word_read(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bool zip_has(const rlx_zip_t *zip, uint64_t offset, uint64_t bytes) { return offset <= zip->bytes && bytes <= zip->bytes - offset; }

static rlx_status_t zip_damaged(rlx_diag_t *diag, const char *what)
{
    return rlx_fail(diag, RLX_E_NPZ, "the zip archive is damaged: %s", what);
}

/* Offset of the end record, searched backwards past a comment. */
static bool zip_end_find(const rlx_zip_t *zip, uint64_t *out_offset)
{
    uint64_t lowest = zip->bytes > ZIP_END_BYTES + ZIP_COMMENT_MAX ? zip->bytes - ZIP_END_BYTES - ZIP_COMMENT_MAX : 0;

    if (zip->bytes < ZIP_END_BYTES)
        return false;
    for (uint64_t at = zip->bytes - ZIP_END_BYTES + 1; at-- > lowest;)
        if (memcmp(zip->data + at, "PK\5\6", 4) == 0 && word_read(zip->data + at + 20, 2) == zip->bytes - at - ZIP_END_BYTES) {
            *out_offset = at;
            return true;
        }
    return false;
}

/* Replaces the 32-bit fields of the end record by those of zip64's, where there is one. */
static rlx_status_t zip64_end_read(rlx_zip_t *zip, uint64_t end, uint64_t *size, uint64_t *start, rlx_diag_t *diag)
{
    const uint8_t *locator = zip->data + end - 20;
    uint64_t at;

    if (end < 20 || memcmp(locator, "PK\6\7", 4) != 0)
        return RLX_OK;
    at = word_read(locator + 8, 8);
    if (!zip_has(zip, at, 56) || memcmp(zip->data + at, "PK\6\6", 4) != 0)
        return zip_damaged(diag, "the zip64 end record is missing");
    zip->n_left = word_read(zip->data + at + 32, 8);
    *size = word_read(zip->data + at + 40, 8);
    *start = word_read(zip->data + at + 48, 8);
    return RLX_OK;
}

rlx_status_t rlx_zip_open(const void *data, size_t bytes, rlx_zip_t *out_zip, rlx_diag_t *diag)
{
    rlx_zip_t zip = {.data = data, .bytes = bytes};
    uint64_t end, size, start;

    if (!zip_end_find(&zip, &end))
        return rlx_fail(diag, RLX_E_NPZ, "neither a zip archive nor a .npy array, or cut off");
    zip.n_left = word_read(zip.data + end + 10, 2);
    size = word_read(zip.data + end + 12, 4);
    start = word_read(zip.data + end + 16, 4);
    RLX_TRY(zip64_end_read(&zip, end, &size, &start, diag));
    if (!zip_has(&zip, start, size))
        return zip_damaged(diag, "its directory lies outside the file");
    zip.at = start;
    zip.end = start + size;
    *out_zip = zip;
    return RLX_OK;
}

/* Fields of 0xffffffff stand in the zip64 extra field, in this order: size, packed size, offset. */
static bool zip64_extra_read(const uint8_t *extra, uint64_t bytes, uint64_t *size, uint64_t *packed, uint64_t *offset)
{
    uint64_t *fields[3] = {size, packed, offset};

    while (bytes >= 4) {
        uint64_t id = word_read(extra, 2), length = word_read(extra + 2, 2);

        if (length > bytes - 4)
            return false;
        if (id == 1) {
            const uint8_t *at = extra + 4;

            for (int i = 0; i < 3; i++) {
                if (*fields[i] != 0xffffffffu)
                    continue;
                if ((uint64_t)(at - extra) + 8 > length + 4)
                    return false;
                *fields[i] = word_read(at, 8);
                at += 8;
            }
            return true;
        }
        extra += 4 + length;
        bytes -= 4 + length;
    }
    return *size != 0xffffffffu && *packed != 0xffffffffu && *offset != 0xffffffffu;
}

static rlx_status_t member_data_find(const rlx_zip_t *zip, uint64_t offset, rlx_zip_member_t *member, rlx_diag_t *diag)
{
    uint64_t start;

    if (!zip_has(zip, offset, 30) || memcmp(zip->data + offset, "PK\3\4", 4) != 0)
        return zip_damaged(diag, "a member's header is missing");
    start = offset + 30 + word_read(zip->data + offset + 26, 2) + word_read(zip->data + offset + 28, 2);
    if (!zip_has(zip, start, member->packed_bytes))
        return zip_damaged(diag, "a member lies outside the file");
    member->packed = zip->data + start;
    return RLX_OK;
}

static rlx_status_t member_check(const rlx_zip_member_t *member, uint64_t flags, uint64_t method, rlx_diag_t *diag)
{
    if (flags & 1)
        return rlx_fail(diag, RLX_E_NPZ, "the zip archive is encrypted");
    if (method != 0 && method != 8)
        return rlx_fail(diag, RLX_E_NPZ, "zip compression method %u is not supported, only stored and deflated", (unsigned)method);
    if (method == 0 && member->bytes != member->packed_bytes)
        return zip_damaged(diag, "a stored member has two sizes");
    if (method == 8 && member->bytes / ZIP_DEFLATE_RATIO_MAX > member->packed_bytes)
        return zip_damaged(diag, "a member claims more bytes than it can hold");
    return RLX_OK;
}

rlx_status_t rlx_zip_next(rlx_zip_t *zip, rlx_zip_member_t *out_member, bool *out_more, rlx_diag_t *diag)
{
    rlx_zip_member_t member = {0};
    const uint8_t *record;
    uint64_t size, packed, offset, name, extra, record_bytes;

    *out_more = false;
    if (zip->n_left == 0)
        return RLX_OK;
    if (zip->end - zip->at < 46 || memcmp(zip->data + zip->at, "PK\1\2", 4) != 0)
        return zip_damaged(diag, "a directory entry is missing");
    record = zip->data + zip->at;
    packed = word_read(record + 20, 4);
    size = word_read(record + 24, 4);
    name = word_read(record + 28, 2);
    extra = word_read(record + 30, 2);
    offset = word_read(record + 42, 4);
    record_bytes = 46 + name + extra + word_read(record + 32, 2);
    if (record_bytes > zip->end - zip->at || !zip64_extra_read(record + 46 + name, extra, &size, &packed, &offset))
        return zip_damaged(diag, "a directory entry is cut off");
    member.name = (const char *)record + 46;
    member.name_bytes = name;
    member.packed_bytes = packed;
    member.bytes = size;
    member.crc = (uint32_t)word_read(record + 16, 4);
    member.deflated = word_read(record + 10, 2) == 8;
    RLX_TRY(member_check(&member, word_read(record + 8, 2), word_read(record + 10, 2), diag));
    RLX_TRY(member_data_find(zip, offset, &member, diag));
    zip->at += record_bytes;
    zip->n_left--;
    *out_member = member;
    *out_more = true;
    return RLX_OK;
}

/* Inflates in pieces, since zlib counts in 32 bits. True when exactly member->bytes came out. */
static bool member_inflate(const rlx_zip_member_t *member, uint8_t *out)
{
    z_stream stream = {.next_in = (Bytef *)member->packed, .next_out = out};
    size_t in_left = member->packed_bytes, out_left = member->bytes;
    int rc = inflateInit2(&stream, -MAX_WBITS);
    bool done;

    if (rc != Z_OK)
        return false;
    while (rc == Z_OK) {
        uInt in = (uInt)(in_left < UINT32_MAX ? in_left : UINT32_MAX), room = (uInt)(out_left < UINT32_MAX ? out_left : UINT32_MAX);

        stream.avail_in = in;
        stream.avail_out = room;
        rc = inflate(&stream, Z_NO_FLUSH);
        in_left -= in - stream.avail_in;
        out_left -= room - stream.avail_out;
        if (in == stream.avail_in && room == stream.avail_out && rc == Z_OK)
            rc = Z_BUF_ERROR;
    }
    done = rc == Z_STREAM_END && out_left == 0;
    inflateEnd(&stream);
    return done;
}

rlx_status_t rlx_zip_unpack(const rlx_zip_member_t *member, void *out_data, rlx_diag_t *diag)
{
    if (!member->deflated)
        memcpy(out_data, member->packed, member->bytes);
    else if (!member_inflate(member, out_data))
        return zip_damaged(diag, "a member does not unpack to its size");
    if ((uint32_t)crc32_z(crc32_z(0, NULL, 0), out_data, member->bytes) != member->crc)
        return zip_damaged(diag, "a member's checksum is wrong");
    return RLX_OK;
}
