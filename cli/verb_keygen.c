/* rlx keygen: a pair of keys for signing. */
#include <stdio.h>

#include "cli/cli.h"

#define NAME_DEFAULT "rlx"

static rlx_status_t public_print(const char *path, rlx_diag_t *diag)
{
    rlx_secret_key_t key;
    rlx_text_t text;

    RLX_TRY(rlx_secret_key_read(path, &key, diag));
    rlx_text_init(&text, RLX_KEY_FILE_MAX);
    rlx_public_key_print(&key.public_key, &text);
    rlx_secret_key_wipe(&key);
    fwrite(text.data, 1, text.bytes, stdout);
    rlx_text_fini(&text);
    return RLX_OK;
}

static rlx_status_t pair_make(const char *name, const char *comment, rlx_diag_t *diag)
{
    rlx_secret_key_t key;
    char id[RLX_KEY_ID_TEXT];
    rlx_status_t status;

    RLX_TRY(rlx_key_comment_check(comment, diag));
    RLX_TRY(rlx_secret_key_make(comment, &key, diag));
    status = rlx_key_pair_write(name, &key, diag);
    rlx_key_id(key.public_key.key, id);
    rlx_secret_key_wipe(&key);
    RLX_TRY(status);
    printf("key %s\n  %s.key  secret: signs; for you alone\n  %s.pub  public: goes into the folder of trusted keys of whoever verifies\n", id, name,
           name);
    return RLX_OK;
}

static rlx_status_t keygen_run(int argc, char **argv, rlx_diag_t *diag)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'}, {"comment", required_argument, NULL, 'c'}, {"public", required_argument, NULL, 'p'}, {0}};
    const char *name = NULL, *comment = NULL, *public = NULL;

    for (int option; (option = rlx_cli_option_next(argc, argv, options, diag)) != -1;)
        switch (option) {
        case 'o': name = optarg; break;
        case 'c': comment = optarg; break;
        case 'p': public = optarg; break;
        default: return diag->status;
        }
    if (optind < argc)
        return rlx_fail(diag, RLX_E_USAGE, "keygen: unexpected argument '%s'", argv[optind]);
    if (public != NULL && (name != NULL || comment != NULL))
        return rlx_fail(diag, RLX_E_USAGE, "keygen: --public prints a key that is there; --output and --comment belong to a new one");
    return public != NULL ? public_print(public, diag)
                          : pair_make(name != NULL ? name : NAME_DEFAULT, comment != NULL ? comment : "", diag);
}

const rlx_verb_t rlx_verb_keygen = {
    .name = "keygen",
    .summary = "make a pair of keys that sign and verify bundles",
    .help = "rlx keygen [-o NAME] [--comment TEXT]\n"
            "rlx keygen --public NAME.key\n"
            "\n"
            "Makes NAME.key, the secret key (readable by you alone), and NAME.pub, the public one (Ed25519). Nothing is ever replaced.\n"
            "\n"
            "Options:\n"
            "  -o, --output NAME  names the pair (default: rlx)\n"
            "  --comment TEXT     who or what the key is for; stands in both files\n"
            "  --public FILE      prints the public key of a secret one\n"
            "\n"
            "The secret key is not encrypted: keep it where only the signer can read it. docs/SIGNING.md tells how keys are kept and replaced.\n"
            "\n"
            "Example: rlx keygen -o release --comment 'releases of the vision team'\n",
    .run = keygen_run,
};
