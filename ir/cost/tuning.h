/* What tuning decides, by op: how the op's work is cut, and what its steps were measured to take. Both change speed, never bits.
 *
 * An op is named by its *key*: kind, types, attributes and epilogue as text, without names, so that equal layers share what was measured, in
 * one model or in several. `rlx compile --tune` measures candidates and fills the table; the pass attaches it to the ops' schedules. */
#ifndef RLX_IR_TUNING_H
#define RLX_IR_TUNING_H

#include "ir/graph.h"
#include "ir/schedule.h"

#define RLX_TUNING_ENTRIES_MAX 65536

typedef struct rlx_tuning_entry {
    char *key;
    rlx_cut_t cut;
    int n_steps; /* measured; 0: none */
    uint64_t scale[RLX_SCHEDULE_STEPS_MAX];
} rlx_tuning_entry_t;

/* Ascending by key, each once. Borrowed by a compilation. */
typedef struct rlx_tuning {
    rlx_tuning_entry_t *entries;
    int n_entries;
} rlx_tuning_t;

/* The fields of a cut, for tables, logs and texts. */
typedef struct rlx_cut_field {
    const char *name;
    size_t offset; /* of an int64_t in rlx_cut_t */
    int64_t max;   /* 0 to max are allowed */
} rlx_cut_field_t;
#define RLX_CUT_FIELDS 6
extern const rlx_cut_field_t rlx_cut_fields[RLX_CUT_FIELDS];
static inline int64_t *rlx_cut_at(rlx_cut_t *cut, int field) { return (int64_t *)(void *)((char *)cut + rlx_cut_fields[field].offset); }

/* The cuts worth a measurement for ops of `kind`; the first leaves everything to the model. */
const rlx_cut_t *rlx_cut_candidates(rlx_op_kind_t kind, int *out_count);

/* Gives every op of `graph` its key, and the table's entry of that key if there is one: op->sched. After the last pass, before lowering. */
void rlx_pass_tune(rlx_graph_t *graph, const rlx_tuning_t *tuning);

#endif
