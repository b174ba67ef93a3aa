/* Links and rounds. A round is armed again whatever becomes of it. */
#include "gss/core/agent_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

#define DIAL_LIMIT_MS 1000
#define DIAL_FIRST_MS 50
#define DIAL_LAST_MS 2000
#define EXPIRE_MS 5000
#define STEP_MAX_MS 1000

rlx_gss_agent_t *rlx_gss_agent_create(const rlx_gss_agent_settings_t *settings, uint64_t now_ms)
{
    rlx_gss_agent_t *agent = calloc(1, sizeof *agent);

    RLX_ASSERT(settings->boot != 0);
    RLX_ASSERT(settings->n_replicas >= 1);
    RLX_ASSERT(settings->n_replicas <= RLX_GSS_REPLICAS_MAX);
    RLX_ASSERT(settings->record_bytes <= RLX_GSS_BODY_MAX);
    if (agent == NULL)
        return NULL;
    agent->options = settings->options;
    agent->node = settings->node;
    agent->boot = settings->boot;
    agent->incarnation = settings->incarnation;
    agent->n_replicas = settings->n_replicas;
    agent->sequence = 1;
    agent->awake = (rlx_gss_awake_t){.now_ms = STEP_MAX_MS, .last_ms = now_ms};
    agent->home = RLX_GSS_NONE;
    agent->fresh_ms = agent->beat_ms = agent_now(agent);
    rlx_prng_init(&agent->prng, settings->boot);
    agent->next_home = (uint32_t)rlx_prng_below(&agent->prng, settings->n_replicas);
    memcpy(agent->record, settings->record, settings->record_bytes);
    agent->record_bytes = (uint32_t)settings->record_bytes;
    if (RLX_MUTANT(INCARNATION)) {
        agent->incarnation = 1;
        agent->state = RLX_GSS_AGENT_BEATING;
        agent->send_record = true;
    }
    if (!rlx_gss_state_init(&agent->view, &agent->options)) {
        rlx_gss_agent_destroy(agent);
        return NULL;
    }
    return agent;
}

void rlx_gss_agent_destroy(rlx_gss_agent_t *agent)
{
    if (agent == NULL)
        return;
    rlx_gss_state_fini(&agent->view);
    free(agent);
}

void agent_speak(rlx_gss_agent_t *agent, uint32_t link, bool counts)
{
    agent_source_t *source = &agent->sources[link];
    rlx_gss_head_t head = rlx_gss_head(RLX_GSS_PART_BEAT);
    bool asks = agent->state == RLX_GSS_AGENT_ASKING;
    size_t at = agent->effects->text.bytes, part;

    if (!source->up || agent->state == RLX_GSS_AGENT_STOPPED || agent->state == RLX_GSS_AGENT_PERSISTING)
        return;
    head.f[RLX_GSS_F_SENDER] = agent->node;
    head.f[RLX_GSS_F_BOOT] = agent->boot;
    head.f[RLX_GSS_F_STAMP] = agent->awake.last_ms + 1;
    if (!asks) {
        agent->counter += counts;
        head.f[RLX_GSS_F_INCARNATION] = agent->incarnation;
        head.f[RLX_GSS_F_COUNTER] = agent->counter;
        head.f[RLX_GSS_F_SEQUENCE] = agent->sequence;
        head.f[RLX_GSS_F_EPOCH] = source->epoch;
        head.f[RLX_GSS_F_SERIAL] = source->serial;
        head.f[RLX_GSS_F_DIGEST] = rlx_gss_state_digest(&agent->view);
        head.f[RLX_GSS_F_FLAGS] = agent->state == RLX_GSS_AGENT_LEAVING ? RLX_GSS_FLAG_LEAVING : 0;
        head.load = agent->load_bytes > 0 ? agent->load : NULL;
        head.load_bytes = agent->load_bytes;
        head.record = agent->send_record ? agent->record : NULL;
        head.record_bytes = agent->record_bytes;
    }
    part = rlx_gss_packet_begin(&agent->effects->text, &head);
    rlx_gss_packet_end(&agent->effects->text, &head, part);
    rlx_gss_effects_send(agent->effects, link, at);
    if (source->since_ms == 0)
        source->since_ms = agent_now(agent);
}

static void dial(rlx_gss_agent_t *agent, uint32_t link)
{
    agent_source_t *source = &agent->sources[link];

    if (source->up || source->dialing)
        return;
    source->dialing = true;
    source->since_ms = agent_now(agent);
    rlx_gss_effects_add(agent->effects, RLX_GSS_EFFECT_DIAL)->peer = link;
}

/* Home is no more: another link that is up takes its place at once; else the next replica is dialled after a while, a little longer each
 * time, with chance, so that nodes that lost one replica together do not come together. */
static void home_lost(rlx_gss_agent_t *agent)
{
    agent->home = RLX_GSS_NONE;
    agent->failovers++;
    for (uint32_t i = 0; i < agent->n_replicas && agent->home == RLX_GSS_NONE; i++)
        if (agent->sources[i].up)
            agent->home = i;
    agent->dial_ms = agent_now(agent) + rlx_prng_below(&agent->prng, agent->dial_wait_ms + DIAL_FIRST_MS);
    agent->dial_wait_ms = 2 * agent->dial_wait_ms + DIAL_FIRST_MS < DIAL_LAST_MS ? 2 * agent->dial_wait_ms + DIAL_FIRST_MS : DIAL_LAST_MS;
}

static void link_gone(rlx_gss_agent_t *agent, uint32_t link)
{
    agent_source_t *source = &agent->sources[link];

    source->up = source->dialing = false;
    source->since_ms = 0;
    source->mismatches = 0;
    if (agent->home == link)
        home_lost(agent);
}

void agent_leave_link(rlx_gss_agent_t *agent, uint32_t link)
{
    rlx_gss_effects_add(agent->effects, RLX_GSS_EFFECT_CLOSE)->link = link;
    link_gone(agent, link);
}

static void link_up(rlx_gss_agent_t *agent, uint32_t link)
{
    agent_source_t *source = &agent->sources[link];

    source->up = true;
    source->dialing = false;
    source->since_ms = 0;
    if (!agent->registered)
        agent->send_record = true;
    agent_speak(agent, link, false);
}

static void rounds(rlx_gss_agent_t *agent)
{
    bool sent = false;

    if (agent_now(agent) < agent->beat_ms || agent->state == RLX_GSS_AGENT_STOPPED)
        return;
    agent->beat_ms = agent_now(agent) + (agent->state == RLX_GSS_AGENT_ASKING ? agent->options.heartbeat_ms / 2 : agent->options.heartbeat_ms);
    for (uint32_t i = 0; i < agent->n_replicas; i++)
        if (agent->sources[i].up) {
            agent_speak(agent, i, !sent);
            sent = true;
        }
    if (RLX_MUTANT(ROUND_NOT_ARMED) && !sent && agent->state == RLX_GSS_AGENT_BEATING)
        agent->beat_ms = UINT64_MAX;
}

static uint64_t answer_limit_ms(const rlx_gss_agent_t *agent)
{
    return agent->options.heartbeat_ms > DIAL_LIMIT_MS ? agent->options.heartbeat_ms : DIAL_LIMIT_MS;
}

/* Links that do not answer are left; where there is no home one is dialled; in a minority all are. */
static void links(rlx_gss_agent_t *agent)
{
    for (uint32_t i = 0; i < agent->n_replicas; i++) {
        agent_source_t *source = &agent->sources[i];
        if (source->since_ms != 0 && agent_now(agent) - source->since_ms >= (source->up ? answer_limit_ms(agent) : DIAL_LIMIT_MS))
            agent_leave_link(agent, i);
        else if (agent->spread && i != agent->home)
            dial(agent, i);
        else if (!agent->spread && i != agent->home && source->up)
            agent_leave_link(agent, i);
    }
    if (agent->home == RLX_GSS_NONE && agent_now(agent) >= agent->dial_ms) {
        agent->home = agent->next_home;
        agent->next_home = (agent->next_home + 1) % agent->n_replicas;
        dial(agent, agent->home);
    }
}

static void record_set(rlx_gss_agent_t *agent, const rlx_gss_event_t *event)
{
    RLX_ASSERT(event->bytes <= RLX_GSS_BODY_MAX);
    memcpy(agent->record, event->data, event->bytes);
    agent->record_bytes = (uint32_t)event->bytes;
    agent->sequence++;
    agent->send_record = true;
    agent->registered = false;
    agent->beat_ms = agent_now(agent);
}

static void persisted(rlx_gss_agent_t *agent)
{
    if (agent->state != RLX_GSS_AGENT_PERSISTING)
        return;
    agent->state = RLX_GSS_AGENT_BEATING; /* also when the disk failed: the next start asks the replicas */
    agent->counter = 0;
    agent->registered = agent->joined_told = false;
    agent->send_record = true;
    agent->beat_ms = agent_now(agent);
}

static void handle(rlx_gss_agent_t *agent, const rlx_gss_event_t *event)
{
    switch (event->kind) {
    case RLX_GSS_EVENT_LINK_UP: link_up(agent, event->link); break;
    case RLX_GSS_EVENT_LINK_DOWN: link_gone(agent, event->link); break;
    case RLX_GSS_EVENT_PERSISTED: persisted(agent); break;
    case RLX_GSS_EVENT_RECORD: record_set(agent, event); break;
    case RLX_GSS_EVENT_LEAVE:
        record_set(agent, event);
        agent->state = agent->state == RLX_GSS_AGENT_BEATING ? RLX_GSS_AGENT_LEAVING : RLX_GSS_AGENT_STOPPED;
        break;
    case RLX_GSS_EVENT_LOAD:
        agent->load_bytes = (uint32_t)(event->bytes < RLX_GSS_LOAD_MAX ? event->bytes : RLX_GSS_LOAD_MAX);
        memcpy(agent->load, event->data, agent->load_bytes);
        break;
    case RLX_GSS_EVENT_MESSAGE:
        if (!agent->sources[event->link].up)
            break;
        if (rlx_gss_packet_decode(event->data, event->bytes, &agent->in, NULL) == RLX_OK && agent->in.head.part == RLX_GSS_PART_REPLY) {
            agent_reply(agent, event->link);
        } else {
            agent->refused++;
            agent_leave_link(agent, event->link);
        }
        break;
    default: break;
    }
}

void rlx_gss_agent_step(rlx_gss_agent_t *agent, const rlx_gss_event_t *event, uint64_t now_ms, rlx_gss_effects_t *effects)
{
    rlx_gss_effects_clear(effects);
    agent->effects = effects;
    rlx_gss_awake_step(&agent->awake, now_ms, STEP_MAX_MS);
    handle(agent, event);
    links(agent);
    rounds(agent);
    if (agent_now(agent) >= agent->expire_ms) {
        agent->expire_ms = agent_now(agent) + EXPIRE_MS;
        rlx_gss_state_expire(&agent->view, agent_now(agent));
    }
    agent->effects = NULL;
}

uint64_t rlx_gss_agent_due_ms(const rlx_gss_agent_t *agent)
{
    uint64_t now = agent_now(agent), due = now + STEP_MAX_MS;

    if (agent->state != RLX_GSS_AGENT_STOPPED && agent->beat_ms < due)
        due = agent->beat_ms;
    if (agent->home == RLX_GSS_NONE && agent->dial_ms < due)
        due = agent->dial_ms;
    for (uint32_t i = 0; i < agent->n_replicas; i++) {
        const agent_source_t *source = &agent->sources[i];
        uint64_t limit_ms = source->up ? answer_limit_ms(agent) : DIAL_LIMIT_MS;
        if (source->since_ms != 0 && source->since_ms + limit_ms < due)
            due = source->since_ms + limit_ms;
    }
    return agent->awake.last_ms + (due > now ? due - now : 1);
}

const rlx_gss_state_t *rlx_gss_agent_view(const rlx_gss_agent_t *agent) { return &agent->view; }

void rlx_gss_agent_look(const rlx_gss_agent_t *agent, rlx_gss_agent_look_t *out_look)
{
    *out_look = (rlx_gss_agent_look_t){
        .state = agent->state, .registered = agent->registered, .incarnation = agent->incarnation,
        .home = agent->home != RLX_GSS_NONE && agent->sources[agent->home].up ? agent->home : RLX_GSS_NONE,
        .view_age_ms = agent_now(agent) - agent->fresh_ms, .rtt_ms = agent->rtt_ms, .failovers = agent->failovers,
        .rejoins = agent->rejoins, .refused = agent->refused, .resyncs = agent->resyncs, .gaps = agent->gaps,
    };
}
