/* Reading the folder of trusted keys, and asking it (bundle/trust.h). */
#include "bundle/trust.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rlx_trust {
    char *folder;
    rlx_public_key_t *keys;
    int n_keys;
    char left_out[512];
};

static bool is_key_name(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".pub") == 0;
}

static void leave_out(rlx_trust_t *trust, const char *path, const rlx_diag_t *diag)
{
    if (trust->left_out[0] == '\0')
        snprintf(trust->left_out, sizeof trust->left_out, "%.200s: %.280s", diag->where[0] != '\0' ? diag->where : path, diag->message);
}

static rlx_status_t writers_check(const char *path, rlx_diag_t *diag)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot read %s: %s", path, strerror(errno));
    if ((info.st_mode & S_IWOTH) == 0)
        return RLX_OK;
    rlx_fail(diag, RLX_E_KEY_FILE, "everybody may write %s, and so decide who is trusted", path);
    return rlx_diag_hint(diag, "chmod o-w it, after looking at what it holds.");
}

static rlx_status_t key_add(rlx_trust_t *trust, const char *name, rlx_diag_t *diag)
{
    rlx_public_key_t key, *grown;
    rlx_diag_t why = {0};
    char *path;

    if (trust->n_keys == RLX_TRUST_KEYS_MAX)
        return rlx_fail(diag, RLX_E_KEY_FILE, "%s holds more than %d keys", trust->folder, RLX_TRUST_KEYS_MAX);
    if (asprintf(&path, "%s/%s", trust->folder, name) < 0)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    if (writers_check(path, &why) != RLX_OK || rlx_public_key_read(path, &key, &why) != RLX_OK) {
        leave_out(trust, path, &why);
        free(path);
        return RLX_OK;
    }
    free(path);
    grown = realloc(trust->keys, (size_t)(trust->n_keys + 1) * sizeof *grown);
    if (grown == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    trust->keys = grown;
    trust->keys[trust->n_keys++] = key;
    return RLX_OK;
}

static int name_compare(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int name_filter(const struct dirent *entry) { return is_key_name(entry->d_name); }

static rlx_status_t folder_read(rlx_trust_t *trust, rlx_diag_t *diag)
{
    struct dirent **names;
    rlx_status_t status = RLX_OK;
    int n;

    RLX_TRY(writers_check(trust->folder, diag));
    n = scandir(trust->folder, &names, name_filter, name_compare);
    if (n < 0)
        return rlx_fail(diag, RLX_E_FILE_OPEN, "cannot read %s: %s", trust->folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (status == RLX_OK)
            status = key_add(trust, names[i]->d_name, diag);
        free(names[i]);
    }
    free(names);
    return status;
}

rlx_status_t rlx_trust_read(const char *folder, rlx_trust_t **out_trust, rlx_diag_t *diag)
{
    rlx_trust_t *trust = calloc(1, sizeof *trust);
    rlx_status_t status;

    if (trust == NULL || (trust->folder = strdup(folder)) == NULL) {
        free(trust);
        return rlx_fail(diag, RLX_E_NO_MEMORY, "out of memory");
    }
    status = folder_read(trust, diag);
    if (status != RLX_OK) {
        rlx_diag_hint(diag, "The folder of trusted keys holds public keys, one in each file NAME.pub, as `rlx keygen` makes them.");
        rlx_trust_free(trust);
        return status;
    }
    *out_trust = trust;
    return RLX_OK;
}

void rlx_trust_free(rlx_trust_t *trust)
{
    if (trust == NULL)
        return;
    free(trust->keys);
    free(trust->folder);
    free(trust);
}

int rlx_trust_count(const rlx_trust_t *trust) { return trust->n_keys; }
const char *rlx_trust_folder(const rlx_trust_t *trust) { return trust->folder; }
const char *rlx_trust_left_out(const rlx_trust_t *trust) { return trust->left_out; }

const rlx_public_key_t *rlx_trust_find(const rlx_trust_t *trust, const uint8_t key[RLX_KEY_BYTES])
{
    for (int i = 0; i < trust->n_keys; i++)
        if (memcmp(trust->keys[i].key, key, RLX_KEY_BYTES) == 0)
            return &trust->keys[i];
    return NULL;
}

static rlx_status_t unsigned_refuse(const rlx_bundle_t *bundle, rlx_diag_t *diag)
{
    int n_sources;

    (void)rlx_bundle_source_signatures(bundle, &n_sources);
    rlx_fail(diag, RLX_E_BUNDLE_UNTRUSTED, "the bundle is not signed, and only signed ones are taken%s",
             n_sources > 0 ? " (its source is, which says nothing about the code in it)" : "");
    return rlx_diag_hint(diag, "`rlx sign FILE.rlxb --key NAME.key` signs it; docs/SIGNING.md tells more.");
}

rlx_status_t rlx_bundle_trusted(const rlx_bundle_t *bundle, const rlx_trust_t *trust, rlx_diag_t *diag)
{
    const rlx_bundle_signature_t *signatures;
    char ids[RLX_BUNDLE_SIGNATURES_MAX * (RLX_KEY_ID_TEXT + 1)] = "";
    int n;

    signatures = rlx_bundle_signatures(bundle, &n);
    if (n == 0)
        return unsigned_refuse(bundle, diag);
    for (int i = 0; i < n; i++) {
        if (rlx_trust_find(trust, signatures[i].key) != NULL)
            return RLX_OK;
        if (i > 0)
            strcat(ids, ", ");
        rlx_key_id(signatures[i].key, ids + strlen(ids));
    }
    rlx_fail(diag, RLX_E_BUNDLE_UNTRUSTED, "the bundle is signed by %.200s, by none of the %d trusted keys in %.200s%s%.200s", ids,
             trust->n_keys, trust->folder, trust->left_out[0] != '\0' ? "; left out: " : "", trust->left_out);
    return rlx_diag_hint(diag, "If that key is to be trusted, put its public key there as NAME.pub; else do not run this bundle.");
}
