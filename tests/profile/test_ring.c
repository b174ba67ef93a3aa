/* The ring between a thread that tells and the one that writes. */
#include <pthread.h>
#include <string.h>

#include "tests/unit/check.h"
#include "trace/ring.h"

#define CAPACITY (2 * RLX_RING_RECORD_MAX)

typedef struct record {
    rlx_ring_head_t head;
    uint64_t number;
    char rest[];
} record_t;

static bool tell(rlx_ring_t *ring, uint64_t number, size_t extra)
{
    record_t *record = rlx_ring_reserve(ring, sizeof *record + extra, 7);

    if (record == NULL)
        return false;
    record->number = number;
    memset(record->rest, (int)(number & 0xff), extra);
    rlx_ring_commit(ring);
    return true;
}

static void records_come_out_in_order_whole_and_with_their_kind(void **state)
{
    rlx_ring_t ring;
    uint64_t told = 0, seen = 0;

    (void)state;
    assert_true(rlx_ring_init(&ring, CAPACITY));
    for (int round = 0; round < 1000; round++) {
        for (size_t extra = 0; extra < 700; extra += 97)
            assert_true(tell(&ring, told++, extra));
        for (const rlx_ring_head_t *head; (head = rlx_ring_peek(&ring)) != NULL; rlx_ring_next(&ring, head)) {
            const record_t *record = (const record_t *)head;

            assert_int_equal(head->kind, 7);
            assert_int_equal(record->number, seen);
            for (size_t i = 0; i < seen % 8 * 97; i++)
                assert_int_equal((unsigned char)record->rest[i], seen & 0xff);
            seen++;
        }
        assert_int_equal(seen, told);
    }
    assert_int_equal(ring.dropped, 0);
    rlx_ring_fini(&ring);
}

static void a_full_ring_drops_the_newest_and_counts_it(void **state)
{
    rlx_ring_t ring;
    uint64_t told = 0, seen = 0;

    (void)state;
    assert_true(rlx_ring_init(&ring, CAPACITY));
    while (tell(&ring, told, 200))
        told++;
    assert_false(tell(&ring, told, 200));
    assert_int_equal(ring.dropped, 2);
    for (const rlx_ring_head_t *head; (head = rlx_ring_peek(&ring)) != NULL; rlx_ring_next(&ring, head))
        assert_int_equal(((const record_t *)head)->number, seen++);
    assert_int_equal(seen, told);
    assert_true(tell(&ring, 1, 200));
    rlx_ring_fini(&ring);
}

#define MANY 400000

static void *tell_many(void *context)
{
    for (uint64_t number = 0; number < MANY; number++)
        (void)tell(context, number, (number * 37) % 300);
    return NULL;
}

static void two_threads_agree_on_every_record_and_every_drop(void **state)
{
    rlx_ring_t ring;
    pthread_t thread;
    uint64_t last = 0, seen = 0;
    bool ended = false;

    (void)state;
    assert_true(rlx_ring_init(&ring, CAPACITY));
    assert_int_equal(pthread_create(&thread, NULL, tell_many, &ring), 0);
    while (!ended) {
        const rlx_ring_head_t *head = rlx_ring_peek(&ring);

        if (head == NULL) {
            ended = seen + ring.dropped == MANY && rlx_ring_peek(&ring) == NULL;
            continue;
        }
        assert_true(seen == 0 || ((const record_t *)head)->number > last);
        last = ((const record_t *)head)->number;
        seen++;
        rlx_ring_next(&ring, head);
    }
    pthread_join(thread, NULL);
    assert_int_equal(seen + ring.dropped, MANY);
    rlx_ring_fini(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_in_order_whole_and_with_their_kind),
        cmocka_unit_test(a_full_ring_drops_the_newest_and_counts_it),
        cmocka_unit_test(two_threads_agree_on_every_record_and_every_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
