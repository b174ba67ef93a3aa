/* Activation lists of recurrent operators: names, and the alpha and beta lists whose values go, in order, to those that take them. */
#include "ir/operator/rnn_activation.h"

#include <ctype.h>
#include <string.h>

#include "ir/shape/common.h"

static const struct {
    const char *name;
    int kind;
    bool alpha, beta;
    float alpha_default, beta_default;
} activations[] = {
    {"sigmoid", RLX_RNN_SIGMOID, false, false, 0, 0},
    {"tanh", RLX_RNN_TANH, false, false, 0, 0},
    {"relu", RLX_RNN_RELU, false, false, 0, 0},
    {"affine", RLX_RNN_AFFINE, true, true, 1, 0},
    {"leakyrelu", RLX_RNN_LEAKY_RELU, true, false, 0.01f, 0},
    {"thresholdedrelu", RLX_RNN_THRESHOLDED_RELU, true, false, 1, 0},
    {"scaledtanh", RLX_RNN_SCALED_TANH, true, true, 1, 1},
    {"hardsigmoid", RLX_RNN_HARD_SIGMOID, true, true, 0.2f, 0.5f},
    {"elu", RLX_RNN_ELU, true, false, 1, 0},
    {"softsign", RLX_RNN_SOFTSIGN, false, false, 0, 0},
    {"softplus", RLX_RNN_SOFTPLUS, false, false, 0, 0},
};
#define N_ACTIVATIONS ((int)(sizeof activations / sizeof activations[0]))

static int find(const char *name)
{
    for (int i = 0; i < N_ACTIVATIONS; i++)
        if (strcmp(activations[i].name, name) == 0)
            return i;
    return -1;
}

/* The next name of the list in lower case; false at the end. Names longer than any known one are cut and thus unknown. */
static bool next_name(const char **text, char name[32])
{
    size_t n = 0;

    while (**text == ',' || **text == ' ')
        ++*text;
    for (; **text != 0 && **text != ',' && **text != ' '; ++*text)
        if (n < 31)
            name[n++] = (char)tolower((unsigned char)**text);
    name[n] = 0;
    return n > 0;
}

/* Value `*at` of float list `name`, moving on; `fallback` past its end. */
static float take(const rlx_op_t *op, const char *name, int *at, float fallback)
{
    const rlx_attr_t *attr = rlx_op_attr(op, name);

    return attr != NULL && *at < attr->n ? attr->fs[(*at)++] : fallback;
}

rlx_status_t rlx_rnn_activations(const rlx_op_t *op, const char *fallback, rlx_rnn_read_t *read, rlx_diag_t *diag)
{
    const char *text = rlx_op_string(op, "activations");
    int per = read->kind == RLX_RNN_LSTM ? 3 : read->kind == RLX_RNN_GRU ? 2 : 1, alpha = 0, beta = 0;
    bool given = text != NULL && *text != 0;
    char name[32];

    for (int d = 0; d < read->directions; d++) {
        const char *defaults = fallback;
        for (int i = 0; i < per; i++) {
            int found;
            if (!next_name(given ? &text : &defaults, name))
                return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "attribute activations has fewer than %d names", per * read->directions);
            found = find(name);
            if (found < 0)
                return rlx_shape_fail(diag, op, RLX_E_ONNX_OPERATOR, "activation '%s' is not supported", name);
            read->activation[d][i] = activations[found].kind;
            read->alpha[d][i] = activations[found].alpha ? take(op, "alpha", &alpha, activations[found].alpha_default) : 0;
            read->beta[d][i] = activations[found].beta ? take(op, "beta", &beta, activations[found].beta_default) : 0;
        }
    }
    if (given && next_name(&text, name))
        return rlx_shape_fail(diag, op, RLX_E_ONNX_NODE, "attribute activations has more than %d names", per * read->directions);
    return RLX_OK;
}
