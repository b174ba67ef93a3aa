/* See step.h. */
#include "gss/core/step.h"

#include "base/assert.h"
#include "gss/core/options.h"

#define ROOM_EFFECTS 8

bool rlx_gss_effects_init(rlx_gss_effects_t *effects)
{
    effects->n = 0;
    effects->more = false;
    rlx_text_init(&effects->text, RLX_GSS_EFFECT_BYTES);
    return rlx_text_reserve(&effects->text, RLX_GSS_EFFECT_BYTES) != NULL;
}

void rlx_gss_effects_fini(rlx_gss_effects_t *effects) { rlx_text_fini(&effects->text); }

void rlx_gss_effects_clear(rlx_gss_effects_t *effects)
{
    effects->n = 0;
    effects->more = false;
    rlx_text_clear(&effects->text);
}

bool rlx_gss_effects_room(const rlx_gss_effects_t *effects)
{
    return effects->n + ROOM_EFFECTS <= RLX_GSS_EFFECTS_MAX && effects->text.bytes + RLX_GSS_MESSAGE_MAX <= RLX_GSS_EFFECT_BYTES;
}

rlx_gss_effect_t *rlx_gss_effects_add(rlx_gss_effects_t *effects, rlx_gss_effect_kind_t kind)
{
    rlx_gss_effect_t *effect = &effects->effect[effects->n];

    RLX_ASSERT(effects->n < RLX_GSS_EFFECTS_MAX);
    effects->n++;
    *effect = (rlx_gss_effect_t){.kind = kind, .link = RLX_GSS_NONE, .peer = RLX_GSS_NONE};
    return effect;
}

void rlx_gss_effects_send(rlx_gss_effects_t *effects, uint32_t link, size_t at)
{
    rlx_gss_effect_t *effect;

    RLX_ASSERT(!effects->text.full);
    effect = rlx_gss_effects_add(effects, RLX_GSS_EFFECT_SEND);
    effect->link = link;
    effect->at = at;
    effect->bytes = effects->text.bytes - at;
    RLX_ASSERT(effect->bytes <= RLX_GSS_MESSAGE_MAX);
}
