/* The registry of models: loading, replacing, unloading; a bad bundle never takes a good one down; the store survives what happens to the
 * files it copied. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <utime.h>

#include "base/clock.h"
#include "bundle/sign.h"
#include "daemon/models/models.h"
#include "tests/daemon/bundle_maker.h"

#define SERVED_MAX 16

typedef struct world {
    uv_loop_t loop;
    rlx_models_t *models;
    char root[200], repository[256], store[256];
    rlx_served_t *served[SERVED_MAX]; /* by number */
    rlx_served_t *leaving[4096];
    int n_leaving;
    bool hold;      /* served models that leave stay in use */
    bool full;      /* the table of models is full */
    int outcomes;
    rlx_status_t status;
    rlx_diag_t diag;
} world_t;

static rlx_status_t hook_add(void *context, rlx_served_t *served, rlx_diag_t *diag)
{
    world_t *world = context;

    for (uint32_t i = 0; i < SERVED_MAX && !world->full; i++)
        if (world->served[i] == NULL) {
            world->served[i] = served;
            served->number = i;
            return RLX_OK;
        }
    return rlx_fail(diag, RLX_E_MODEL_LIMIT, "all places are taken");
}

static void forget(world_t *world, rlx_served_t *served)
{
    world->served[served->number] = NULL;
    rlx_models_forget(world->models, served);
}

static void hook_remove(void *context, rlx_served_t *served)
{
    world_t *world = context;

    if (world->hold)
        world->leaving[world->n_leaving++] = served;
    else
        forget(world, served);
}

static void done(void *context, rlx_status_t status, const rlx_diag_t *diag)
{
    world_t *world = context;

    world->outcomes++;
    world->status = status;
    world->diag = diag != NULL ? *diag : (rlx_diag_t){0};
    assert_int_equal(status, status == RLX_OK ? RLX_OK : diag->status);
}

static void run_until(world_t *world, int outcomes)
{
    while (world->outcomes < outcomes)
        assert_true(uv_run(&world->loop, UV_RUN_ONCE) != 0 || world->outcomes >= outcomes);
}

static void settle(world_t *world)
{
    while (rlx_models_busy(world->models))
        uv_run(&world->loop, UV_RUN_ONCE);
}

static rlx_status_t load(world_t *world, const char *name, const char *path)
{
    int outcomes = world->outcomes;

    rlx_models_load(world->models, name, path, done, world);
    run_until(world, outcomes + 1);
    settle(world);
    return world->status;
}

static rlx_status_t load_all(world_t *world)
{
    int outcomes = world->outcomes;

    rlx_models_load_all(world->models, done, world);
    run_until(world, outcomes + 1);
    settle(world);
    return world->status;
}

static void models_open(world_t *world)
{
    rlx_models_options_t options = {.loop = &world->loop, .repository = world->repository, .store = world->store, .warm_up = 1,
                                    .hooks = {hook_add, hook_remove, world}};

    assert_ok(rlx_models_create(&options, &world->models, &diag));
}

static void world_open(world_t *world)
{
    static int worlds;
    char name[32];

    memset(world, 0, sizeof *world);
    snprintf(name, sizeof name, "models-%d", worlds++);
    snprintf(world->root, sizeof world->root, "%.160s", scratch_path(name));
    snprintf(world->repository, sizeof world->repository, "%s/repository", world->root);
    snprintf(world->store, sizeof world->store, "%s/store", world->root);
    assert_int_equal(mkdir(world->root, 0700), 0);
    assert_int_equal(mkdir(world->repository, 0700), 0);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    models_open(world);
}

static void folder_remove(const char *path)
{
    char command[512];

    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static void models_shut(world_t *world)
{
    settle(world);
    rlx_models_destroy(world->models);
    memset(world->served, 0, sizeof world->served);
}

static void world_close(world_t *world)
{
    models_shut(world);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    folder_remove(world->root);
}

static const char *at(const world_t *world, const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", world->repository, name);
    return path;
}

/* x + addend as the model computes it, or -1 when it is not served. */
static int answer(world_t *world, const char *name, const char *version)
{
    int32_t in = 40, out = 0;
    rlx_io_t input = {.tensor = {RLX_I32, 1, {1}, &in}}, output = {.tensor = {RLX_I32, 1, {1}, &out}};
    rlx_served_t *served;
    rlx_plan_t *plan;

    if (rlx_models_find(world->models, name, version, &served, NULL) != RLX_OK)
        return -1;
    assert_ok(rlx_plan_get(served->model, &input, &plan, &diag));
    assert_ok(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag));
    rlx_plan_release(plan);
    return out;
}

static int files_in(const char *folder, const char *suffix)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += strlen(entry->d_name) > strlen(suffix) && strcmp(entry->d_name + strlen(entry->d_name) - strlen(suffix), suffix) == 0;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void names_are_checked(void **state)
{
    static const char *const bad[] = {"", "/a", "a/", "a//b", "..", "../x", "a/../b", ".hidden", "a/.b", "a b", "a\nb", "a\"b", "\xc3\xa9"};
    static const char *const good[] = {"a", "ocr/det", "resnet50-v1.5_x", "0"};
    char longest[200];
    static world_t world;

    (void)state;
    world_open(&world);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(load(&world, bad[i], NULL), RLX_INVALID_ARGUMENT);
        assert_int_equal(world.diag.code, RLX_E_MODEL_NAME);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(load(&world, good[i], NULL), RLX_NOT_FOUND);
    memset(longest, 'n', sizeof longest);
    longest[127] = '\0';
    assert_int_equal(load(&world, longest, NULL), RLX_NOT_FOUND);
    longest[127] = 'n';
    longest[128] = '\0';
    assert_int_equal(load(&world, longest, NULL), RLX_INVALID_ARGUMENT);
    { /* names that were asked for in vain leave nothing behind */
        rlx_model_entry_t entry;
        int cursor = 0;

        assert_false(rlx_models_next(world.models, &cursor, &entry));
    }
    world_close(&world);
}

static void the_repository_gives_names_and_versions(void **state)
{
    static world_t world;
    rlx_model_entry_t entry;
    rlx_served_t *served;
    char list[256] = "";
    int cursor = 0;

    (void)state;
    world_open(&world);
    assert_int_equal(mkdir(at(&world, "multi"), 0700), 0);
    assert_int_equal(mkdir(at(&world, "multi/2"), 0700), 0);
    assert_int_equal(mkdir(at(&world, "multi/10"), 0700), 0);
    assert_int_equal(mkdir(at(&world, "multi/notes"), 0700), 0);
    assert_int_equal(mkdir(at(&world, "ocr"), 0700), 0);
    bundle_make(at(&world, "a.rlxb"), 1, 0, false);
    bundle_make(at(&world, "multi/2/m.rlxb"), 2, 0, false);
    bundle_make(at(&world, "multi/10/m.rlxb"), 10, 0, true);
    bundle_make(at(&world, "ocr/det.rlxb"), 3, 0, false);
    assert_int_equal(load_all(&world), RLX_OK);
    while (rlx_models_next(world.models, &cursor, &entry)) {
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s:%s ", entry.name, entry.version);
        assert_int_equal(entry.state, RLX_MODEL_READY);
        assert_non_null(entry.served);
    }
    assert_string_equal(list, "a:1 multi:2 multi:10 ocr/det:1 ");
    assert_int_equal(answer(&world, "a", NULL), 41);
    assert_int_equal(answer(&world, "multi", ""), 50); /* the highest by default */
    assert_int_equal(answer(&world, "multi", "2"), 42);
    assert_int_equal(answer(&world, "multi", "3"), -1);
    assert_int_equal(answer(&world, "ocr/det", "1"), 43);
    assert_refused(rlx_models_find(world.models, "b", NULL, &served, &diag), RLX_E_MODEL_UNKNOWN, "served are: a, multi, ocr/det");
    assert_ok(rlx_models_find(world.models, "multi", NULL, &served, &diag));
    assert_int_equal(served->n_inputs, 1);
    assert_string_equal(served->inputs[0].name, "x");
    assert_int_equal(served->inputs[0].dims[0], -1);
    assert_true(served->inputs[0].integers);
    assert_int_equal(served->batch_symbol, 0);
    assert_int_equal(served->batch_max, 8);
    assert_ok(rlx_models_find(world.models, "a", NULL, &served, &diag));
    assert_int_equal(served->batch_max, 1);
    assert_int_equal(served->batch_symbol, -1);
    world_close(&world);
}

static void a_bad_bundle_never_takes_a_good_one_down(void **state)
{
    static world_t world;
    rlx_model_entry_t entry;
    int cursor = 0, fd;

    (void)state;
    world_open(&world);
    bundle_make(at(&world, "m.rlxb"), 1, 100000, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    fd = open(at(&world, "m.rlxb"), O_WRONLY); /* one byte of the constants */
    assert_int_equal(pwrite(fd, "\x7f", 1, lseek(fd, 0, SEEK_END) - 9000), 1);
    close(fd);
    assert_int_equal(load(&world, "m", NULL), RLX_DATA_LOSS);
    assert_non_null(strstr(world.diag.where, "m.rlxb"));
    assert_int_equal(answer(&world, "m", NULL), 41);
    assert_true(rlx_models_next(world.models, &cursor, &entry));
    assert_int_equal(entry.state, RLX_MODEL_READY);
    assert_string_not_equal(entry.reason, "");
    assert_int_equal(truncate(at(&world, "m.rlxb"), 5000), 0);
    assert_int_equal(load(&world, "m", NULL), RLX_DATA_LOSS);
    assert_int_equal(answer(&world, "m", NULL), 41);
    bundle_make(at(&world, "m.rlxb"), 2, 1000, false);
    world.full = true;
    assert_int_equal(load(&world, "m", NULL), RLX_RESOURCE_EXHAUSTED);
    assert_int_equal(answer(&world, "m", NULL), 41);
    world.full = false;
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(answer(&world, "m", NULL), 42);
    cursor = 0;
    assert_true(rlx_models_next(world.models, &cursor, &entry));
    assert_string_equal(entry.reason, "");
    world_close(&world);
}

static void the_first_load_of_a_bad_bundle_is_in_the_index(void **state)
{
    static world_t world;
    rlx_model_entry_t entry;
    rlx_served_t *served;
    int cursor = 0, fd;

    (void)state;
    world_open(&world);
    bundle_make(at(&world, "good.rlxb"), 1, 0, false);
    fd = open(at(&world, "bad.rlxb"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "no bundle", 9), 9);
    close(fd);
    assert_int_equal(load_all(&world), RLX_DATA_LOSS);
    assert_true(rlx_models_next(world.models, &cursor, &entry));
    assert_string_equal(entry.name, "bad");
    assert_int_equal(entry.state, RLX_MODEL_UNAVAILABLE);
    assert_null(entry.served);
    assert_true(rlx_models_next(world.models, &cursor, &entry));
    assert_int_equal(entry.state, RLX_MODEL_READY);
    assert_refused(rlx_models_find(world.models, "bad", NULL, &served, &diag), RLX_E_MODEL_LOADING, "could not be loaded");
    assert_int_equal(answer(&world, "good", NULL), 41);
    world_close(&world);
}

static void the_old_version_lives_until_it_is_forgotten(void **state)
{
    static world_t world;
    rlx_served_t *old;
    int32_t in = 1, out = 0;
    rlx_io_t input = {.tensor = {RLX_I32, 1, {1}, &in}}, output = {.tensor = {RLX_I32, 1, {1}, &out}};
    rlx_plan_t *plan;

    (void)state;
    world_open(&world);
    world.hold = true;
    bundle_make(at(&world, "m.rlxb"), 1, 50000, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_ok(rlx_models_find(world.models, "m", NULL, &old, &diag));
    bundle_make(at(&world, "m.rlxb"), 2, 50000, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(world.n_leaving, 1);
    assert_ptr_equal(world.leaving[0], old);
    assert_int_equal(answer(&world, "m", NULL), 42);
    assert_ok(rlx_plan_get(old->model, &input, &plan, &diag)); /* a request that has it still runs */
    assert_ok(rlx_run(plan, NULL, &input, &output, NULL, NULL, &diag));
    rlx_plan_release(plan);
    assert_int_equal(out, 2);
    assert_string_equal(old->name, "m");
    forget(&world, old);
    settle(&world);
    assert_int_equal(files_in(world.store, ".rlxb"), 1); /* its copy went with it, and what referred to it */
    assert_int_equal(files_in(world.store, ""), 4);      /* ".", "..", the copy and its stamp: the sources were too fresh to remember */
    world_close(&world);
}

static void unload_waits_for_users_and_reports_once(void **state)
{
    static world_t world;
    rlx_model_entry_t entry;
    rlx_served_t *served;
    int cursor = 0;

    (void)state;
    world_open(&world);
    world.hold = true;
    bundle_make(at(&world, "m.rlxb"), 1, 0, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_refused(rlx_models_unload(world.models, "x", done, &world, &diag), RLX_E_MODEL_UNKNOWN, "'x'");
    assert_ok(rlx_models_unload(world.models, "m", done, &world, &diag));
    assert_int_equal(world.outcomes, 1);
    assert_true(rlx_models_busy(world.models));
    assert_true(rlx_models_next(world.models, &cursor, &entry));
    assert_int_equal(entry.state, RLX_MODEL_UNLOADING);
    assert_refused(rlx_models_find(world.models, "m", NULL, &served, &diag), RLX_E_MODEL_UNKNOWN, "no model 'm'");
    assert_refused(rlx_models_unload(world.models, "m", done, &world, &diag), RLX_E_MODEL_BUSY, "'m'");
    rlx_models_load(world.models, "m", NULL, done, &world);
    assert_int_equal(world.outcomes, 2);
    assert_int_equal(world.diag.code, RLX_E_MODEL_BUSY);
    forget(&world, world.leaving[0]);
    run_until(&world, 3);
    assert_int_equal(world.status, RLX_OK);
    assert_false(rlx_models_busy(world.models));
    cursor = 0;
    assert_true(rlx_models_next(world.models, &cursor, &entry));
    assert_int_equal(entry.state, RLX_MODEL_UNAVAILABLE);
    assert_string_equal(entry.reason, "unloaded");
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(answer(&world, "m", NULL), 41);
    world_close(&world);
}

static void versions_that_left_the_repository_leave(void **state)
{
    static world_t world;

    (void)state;
    world_open(&world);
    assert_int_equal(mkdir(at(&world, "m"), 0700), 0);
    assert_int_equal(mkdir(at(&world, "m/1"), 0700), 0);
    assert_int_equal(mkdir(at(&world, "m/2"), 0700), 0);
    bundle_make(at(&world, "m/1/a.rlxb"), 1, 0, false);
    bundle_make(at(&world, "m/2/a.rlxb"), 2, 0, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(answer(&world, "m", NULL), 42);
    unlink(at(&world, "m/2/a.rlxb"));
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(answer(&world, "m", NULL), 41);
    assert_int_equal(answer(&world, "m", "2"), -1);
    bundle_make(at(&world, "m/1/b.rlxb"), 3, 0, false); /* which of the two? */
    assert_int_equal(load(&world, "m", NULL), RLX_INVALID_ARGUMENT);
    assert_int_equal(answer(&world, "m", NULL), 41);
    world_close(&world);
}

static void the_store_serves_when_the_source_is_gone_or_cut(void **state)
{
    static world_t world;
    rlx_served_t *served;
    const char *bytes;
    size_t n;

    (void)state;
    world_open(&world);
    bundle_make(at(&world, "m.rlxb"), 5, 3000000, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(truncate(at(&world, "m.rlxb"), 0), 0);
    assert_ok(rlx_models_find(world.models, "m", NULL, &served, &diag));
    bytes = rlx_bundle_constants(served->bundle, &n);
    assert_int_equal(n, 3000000);
    for (size_t i = 0; i < n; i += 4096)
        assert_int_equal(bytes[i], 5);
    assert_int_equal(answer(&world, "m", NULL), 45);
    assert_int_equal(files_in(world.store, ".rlxb"), 1);
    world_close(&world);
}

static bool stored(const world_t *world, struct stat *out_info)
{
    DIR *dir = opendir(world->store);
    const struct dirent *entry;
    char path[600];
    bool found = false;

    while (!found && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", world->store, entry->d_name);
        found = strstr(entry->d_name, ".rlxb") != NULL && stat(path, out_info) == 0;
    }
    closedir(dir);
    return found;
}

static void a_restart_copies_and_hashes_nothing(void **state)
{
    static world_t world;
    struct stat first, second;
    rlx_served_t *served;

    (void)state;
    world_open(&world);
    bundle_make(at(&world, "m.rlxb"), 1, 3000000, false);
    usleep(2100000); /* the source has settled, whatever its file system counts */
    assert_int_equal(load_all(&world), RLX_OK);
    assert_ok(rlx_models_find(world.models, "m", NULL, &served, &diag));
    assert_false(rlx_bundle_stamped(served->bundle));
    assert_true(stored(&world, &first));
    assert_int_equal(first.st_mode & 0777, 0444);
    models_shut(&world);
    models_open(&world);
    assert_int_equal(load_all(&world), RLX_OK);
    assert_ok(rlx_models_find(world.models, "m", NULL, &served, &diag));
    assert_true(rlx_bundle_stamped(served->bundle));
    assert_true(stored(&world, &second));
    assert_int_equal(first.st_ino, second.st_ino); /* the same copy */
    world_close(&world);
}

static void a_damaged_store_heals(void **state)
{
    static world_t world;
    char command[800];

    (void)state;
    world_open(&world);
    bundle_make(at(&world, "m.rlxb"), 1, 100000, false);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    models_shut(&world);
    snprintf(command, sizeof command, "cd '%s' && chmod u+w *.rlxb && for f in *.rlxb; do head -c 70000 $f >t && cat t >$f; done; rm t",
             world.store);
    assert_int_equal(system(command), 0);
    models_open(&world);
    assert_int_equal(load(&world, "m", NULL), RLX_OK);
    assert_int_equal(answer(&world, "m", NULL), 41);
    world_close(&world);
}

static void a_store_that_others_may_write_is_refused(void **state)
{
    static world_t world;
    rlx_models_options_t options;
    rlx_models_t *models;

    (void)state;
    world_open(&world);
    options = (rlx_models_options_t){.loop = &world.loop, .store = world.store, .hooks = {hook_add, hook_remove, &world}};
    assert_int_equal(chmod(world.store, 0770), 0);
    assert_refused(rlx_models_create(&options, &models, &diag), RLX_E_FILE_WRITE, "others may write it");
    assert_int_equal(chmod(world.store, 0700), 0);
    world_close(&world);
}

static void the_store_keeps_what_is_served_only(void **state)
{
    static world_t world;

    (void)state;
    world_open(&world);
    bundle_make(at(&world, "a.rlxb"), 1, 0, false);
    bundle_make(at(&world, "b.rlxb"), 2, 0, false);
    assert_int_equal(load_all(&world), RLX_OK);
    assert_int_equal(files_in(world.store, ".rlxb"), 2);
    models_shut(&world);
    unlink(at(&world, "b.rlxb"));
    models_open(&world);
    assert_int_equal(load_all(&world), RLX_OK);
    assert_int_equal(files_in(world.store, ".rlxb"), 1);
    assert_int_equal(files_in(world.store, ".ok"), 1);
    world_close(&world);
}

static void unsigned_bundles_can_be_refused(void **state)
{
    static world_t world;
    rlx_models_options_t options;

    (void)state;
    world_open(&world);
    models_shut(&world);
    options = (rlx_models_options_t){.loop = &world.loop, .repository = world.repository, .verify_signature = true,
                                     .trusted_keys = world.root, .hooks = {hook_add, hook_remove, &world}};
    assert_ok(rlx_models_create(&options, &world.models, &diag));
    bundle_make(at(&world, "a.rlxb"), 1, 0, false);
    assert_int_equal(load(&world, "a", NULL), RLX_FAILED_PRECONDITION);
    assert_non_null(strstr(world.diag.message, "not signed"));
    world_close(&world);
}

/* A pair in the folder of trusted keys; the bundle signed by it. */
static void bundle_sign(const world_t *world, const char *path, const char *name)
{
    char prefix[600], public[640];
    rlx_secret_key_t key;
    int n;

    assert_ok(rlx_secret_key_make(name, &key, &diag));
    snprintf(prefix, sizeof prefix, "%s/%s", world->root, name);
    snprintf(public, sizeof public, "%s.key", prefix);
    unlink(public);
    snprintf(public, sizeof public, "%s.pub", prefix);
    unlink(public);
    assert_ok(rlx_key_pair_write(prefix, &key, &diag));
    assert_ok(rlx_bundle_sign(path, path, &key, &n, &diag));
}

static void signed_bundles_serve_until_their_key_is_taken_away(void **state)
{
    static world_t world;
    rlx_models_options_t options;
    rlx_served_t *served;
    char public[640];

    (void)state;
    world_open(&world);
    models_shut(&world);
    options = (rlx_models_options_t){.loop = &world.loop, .repository = world.repository, .store = world.store, .verify_signature = true,
                                     .trusted_keys = world.root, .hooks = {hook_add, hook_remove, &world}};
    assert_ok(rlx_models_create(&options, &world.models, &diag));
    bundle_make(at(&world, "a.rlxb"), 1, 0, false);
    assert_int_equal(load(&world, "a", NULL), RLX_FAILED_PRECONDITION);
    bundle_sign(&world, at(&world, "a.rlxb"), "alice"); /* the same bundle, signed: the store must not give the unsigned copy */
    assert_int_equal(load(&world, "a", NULL), RLX_OK);
    bundle_make(at(&world, "b.rlxb"), 2, 0, false);
    bundle_sign(&world, at(&world, "b.rlxb"), "bob");
    assert_int_equal(load_all(&world), RLX_OK);
    snprintf(public, sizeof public, "%s/alice.pub", world.root);
    assert_int_equal(unlink(public), 0);
    assert_int_equal(load_all(&world), RLX_FAILED_PRECONDITION);
    assert_refused(rlx_models_find(world.models, "a", NULL, &served, &diag), RLX_E_MODEL_LOADING, "trusted");
    assert_ok(rlx_models_find(world.models, "b", NULL, &served, &diag));
    unlink(at(&world, "b.rlxb")); /* gone from the repository: it goes on serving, while it is trusted */
    assert_int_equal(load_all(&world), RLX_FAILED_PRECONDITION);
    assert_ok(rlx_models_find(world.models, "b", NULL, &served, &diag));
    snprintf(public, sizeof public, "%s/bob.pub", world.root);
    assert_int_equal(unlink(public), 0);
    assert_int_equal(load_all(&world), RLX_FAILED_PRECONDITION);
    assert_int_not_equal(rlx_models_find(world.models, "b", NULL, &served, NULL), RLX_OK);
    world_close(&world);
}

static long resident_kib(void)
{
    long pages = 0, skipped;
    FILE *file = fopen("/proc/self/statm", "r");

    assert_int_equal(fscanf(file, "%ld %ld", &skipped, &pages), 2);
    fclose(file);
    return pages * 4;
}

static void a_thousand_cycles_leave_memory_flat(void **state)
{
    static world_t world;
    long settled = 0;

    (void)state;
    world_open(&world);
    for (int i = 0; i < 1000; i++) {
        bundle_make(at(&world, "m.rlxb"), (int8_t)(1 + i % 2), 20000, false);
        assert_int_equal(load(&world, "m", NULL), RLX_OK);
        assert_int_equal(answer(&world, "m", NULL), 41 + i % 2);
        if (i % 4 == 3) {
            int outcomes = world.outcomes;

            assert_ok(rlx_models_unload(world.models, "m", done, &world, &diag));
            run_until(&world, outcomes + 1);
        }
        if (i == 199)
            settled = resident_kib();
    }
    assert_true(resident_kib() - settled < 1024 || getenv("RLX_TEST_SANITIZED") != NULL);
    assert_true(files_in(world.store, ".rlxb") <= 2);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(the_repository_gives_names_and_versions),
        cmocka_unit_test(a_bad_bundle_never_takes_a_good_one_down),
        cmocka_unit_test(the_first_load_of_a_bad_bundle_is_in_the_index),
        cmocka_unit_test(the_old_version_lives_until_it_is_forgotten),
        cmocka_unit_test(unload_waits_for_users_and_reports_once),
        cmocka_unit_test(versions_that_left_the_repository_leave),
        cmocka_unit_test(the_store_serves_when_the_source_is_gone_or_cut),
        cmocka_unit_test(a_restart_copies_and_hashes_nothing),
        cmocka_unit_test(a_damaged_store_heals),
        cmocka_unit_test(a_store_that_others_may_write_is_refused),
        cmocka_unit_test(the_store_keeps_what_is_served_only),
        cmocka_unit_test(unsigned_bundles_can_be_refused),
        cmocka_unit_test(signed_bundles_serve_until_their_key_is_taken_away),
        cmocka_unit_test(a_thousand_cycles_leave_memory_flat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
