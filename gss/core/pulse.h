/* Liveness, as one observer sees it: has a node's counter risen, on the observer's own clock? No time of the node takes part.
 *
 * The clock is time awake (rlx_gss_awake_t): while the observer itself did not run (a pause, a loop that was stuck) it stands still, so its
 * own deafness is nobody's silence, and raises its health score, which stretches every threshold and, from 4 on, forbids new suspicions. */
#ifndef RLX_GSS_CORE_PULSE_H
#define RLX_GSS_CORE_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "gss/core/cell.h"
#include "gss/core/options.h"

#define RLX_GSS_SCORE_MAX 7

typedef struct rlx_gss_awake {
    uint64_t now_ms, last_ms, calm_ms; /* time awake; the clock at the last step; time awake since the last lateness */
    uint32_t score;
} rlx_gss_awake_t;

typedef struct rlx_gss_pulse {
    uint64_t node;            /* 0: unused */
    rlx_gss_version_t life;   /* incarnation, boot, counter last heard */
    uint64_t heard_ms;        /* awake, when it rose */
    uint32_t mean_q8, dev_q8; /* of the intervals between rises: ms, 8 bits behind the point */
    bool suspect;             /* this observer's word */
    bool held;                /* its eviction is due, and held back by the cap or blindness */
} rlx_gss_pulse_t;

typedef struct rlx_gss_pulses {
    rlx_gss_pulse_t *slots; /* open addressing by node; a node that is gone is removed by shifting back */
    uint32_t mask, n;
} rlx_gss_pulses_t;

/* `step_max_ms`: the observer is stepped at least this often when all is well. */
void rlx_gss_awake_step(rlx_gss_awake_t *awake, uint64_t now_ms, uint64_t step_max_ms);

bool rlx_gss_pulses_init(rlx_gss_pulses_t *pulses, uint32_t nodes_max);
void rlx_gss_pulses_fini(rlx_gss_pulses_t *pulses);
rlx_gss_pulse_t *rlx_gss_pulses_find(const rlx_gss_pulses_t *pulses, uint64_t node);
/* The node's slot, made where there is none; NULL when the table is full (nodes_max). A new one counts as heard now. */
rlx_gss_pulse_t *rlx_gss_pulses_get(rlx_gss_pulses_t *pulses, uint64_t node, uint64_t awake_ms);
void rlx_gss_pulses_remove(rlx_gss_pulses_t *pulses, uint64_t node);

/* A beat of the node came, on whatever way. True when its counter rose. */
bool rlx_gss_pulse_beat(rlx_gss_pulse_t *pulse, rlx_gss_version_t beat, uint64_t awake_ms);
/* This much silence makes a suspect: max(suspect_ms, suspect_beats heartbeats, mean + 6 deviations) times (score + 1); the mean and
 * deviation part goes up to evict_ms. */
uint64_t rlx_gss_pulse_threshold_ms(const rlx_gss_pulse_t *pulse, const rlx_gss_options_t *options, uint32_t score);

#endif
