/* Inside of the trace: events as text, added to trace->out. The writer's thread. */
#ifndef RLX_TRACE_EVENT_H
#define RLX_TRACE_EVENT_H

#include "trace/record.h"

/* One that does not fit the bound of the file is dropped and counted. */
void rlx_event_record(rlx_trace_t *trace, const rlx_ring_head_t *head);
void rlx_event_counter(rlx_trace_t *trace, const char *name, const char *series, uint64_t at_ns, double value);
void rlx_event_track(rlx_trace_t *trace, const rlx_trace_track_t *track);
void rlx_event_model(rlx_trace_t *trace, const rlx_trace_model_t *model);
void rlx_event_process(rlx_trace_t *trace, const char *name);

/* An event that carries facts about the trace itself: between begin and end its args are added. `reserve`: bytes that must stay free in the
 * file. Viewers show it as a flag that can be clicked. */
size_t rlx_event_fact_begin(rlx_trace_t *trace, const char *name, uint64_t at_ns);
void rlx_event_fact_end(rlx_trace_t *trace, size_t mark, uint64_t reserve);

/* trace/write.c: what is in trace->out goes to the file. */
void rlx_trace_flush(rlx_trace_t *trace);

#endif
