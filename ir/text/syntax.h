/* The syntax tree of RLX-IR text. Both forms make it, the SSA reader (ir/text/read.h) and the reader of the module form; ir/text/build.h turns
 * it into a graph. It holds what was written, in order, and where: no name is resolved, no default filled in, no shape known.
 *
 * Owner: the tree owns every node and every string (one arena, freed by rlx_syntax_destroy); strings are NUL-terminated UTF-8 without NULs inside.
 * Thread: one. Bounds: values nest RLX_SYNTAX_DEPTH_MAX deep, functions (bodies) RLX_SYNTAX_BODIES_MAX; the arena has a budget. Allocation never
 * fails: a reader asks rlx_syntax_is_full() once per statement and list element, and stops with an error (RLX_E_TEXT_LIMIT); so the budget is
 * passed by one node at most. */
#ifndef RLX_IR_TEXT_SYNTAX_H
#define RLX_IR_TEXT_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/tensor.h"
#include "ir/expr/expr.h"

#define RLX_SCHEMA_VERSION 2           /* of the text: the one that the printer writes */
#define RLX_SYNTAX_FILE_MAX (64 << 20) /* bytes of a file */
#define RLX_SYNTAX_TENSOR_MAX ((int64_t)16 << 20) /* bytes of a tensor that stands in the text */
#define RLX_SYNTAX_BUDGET ((size_t)1 << 30)
#define RLX_SYNTAX_DEPTH_MAX 64
#define RLX_SYNTAX_BODIES_MAX 16

typedef struct rlx_syntax rlx_syntax_t;
typedef struct rlx_syntax_value rlx_syntax_value_t;
typedef struct rlx_syntax_function rlx_syntax_function_t;

typedef enum rlx_syntax_kind {
    RLX_SYNTAX_NONE,     /* none, None, or an absent operand `_` */
    RLX_SYNTAX_INT,      /* i */
    RLX_SYNTAX_FLOAT,    /* f; inf and nan too */
    RLX_SYNTAX_BOOL,     /* i: 0 or 1 */
    RLX_SYNTAX_STRING,   /* s, without quotes and escapes */
    RLX_SYNTAX_NAME,     /* s: a bare word: a symbol of an extent (`batch`), or a word of an attribute */
    RLX_SYNTAX_DTYPE,    /* dtype: f32, np.float32, rlx.float32 ...; written as a string it stays a string */
    RLX_SYNTAX_REF,      /* s: a value of the function: %s, or a Python name */
    RLX_SYNTAX_LIST,     /* items: lists and tuples */
    RLX_SYNTAX_DICT,     /* fields */
    RLX_SYNTAX_EXPR,     /* op and items: symbolic arithmetic, `batch*(seq+1)`; leaves are INT, NAME and STRING */
    RLX_SYNTAX_TENSOR,   /* tensor: data that the reader computed or read itself, row-major in logical order; owned by the tree */
    RLX_SYNTAX_EXTERNAL, /* external: data in another file */
} rlx_syntax_kind_t;

/* key = value: a keyword argument, an attribute, an entry of a dict. */
typedef struct rlx_syntax_field {
    const char *name;
    rlx_span_t name_span;
    rlx_syntax_value_t *value;
} rlx_syntax_field_t;

/* A tensor of a file beside the text: .safetensors (key names the tensor), .npz (key names the array) or .npy (key NULL). */
typedef struct rlx_syntax_external {
    const char *file;   /* as written: relative to the folder of the text; NULL: the data is not there (texts inside bundles) */
    const char *key;    /* or NULL: the digest, in a .safetensors */
    const char *digest; /* hex of the XXH3-128 of its bytes, high word first; NULL: not checked */
    rlx_dtype_t dtype;  /* NONE: as the file says */
    int rank;           /* with a dtype */
    int64_t dims[RLX_RANK_MAX];
} rlx_syntax_external_t;

struct rlx_syntax_value {
    rlx_syntax_kind_t kind;
    rlx_span_t span;
    union {
        int64_t i;
        double f;
        const char *s;
        rlx_dtype_t dtype;
        struct {
            rlx_expr_op_t op; /* EXPR only */
            int n_items;
            rlx_syntax_value_t **items;
        };
        struct {
            int n_fields;
            rlx_syntax_field_t *fields;
        };
        rlx_tensor_t tensor;
        rlx_syntax_external_t external;
    };
};

/* A result of a statement or an operand's type: `%y: f32[batch,64]{c16}`. */
typedef struct rlx_syntax_type {
    rlx_span_t span;
    rlx_dtype_t dtype;
    int rank;
    rlx_syntax_value_t *dims[RLX_RANK_MAX]; /* INT, NAME, STRING, EXPR; NONE: `?` */
    const char *layout;                     /* or NULL */
} rlx_syntax_type_t;

typedef struct rlx_syntax_result {
    const char *name; /* without %; NULL: `_`, nobody asked for it. A reader that flattens f(g(x)) makes names up (rlx_syntax_fresh) */
    rlx_span_t span;
    rlx_syntax_type_t *type; /* or NULL: inferred */
    bool made_up;            /* the name was not written: the canonical text may use another */
} rlx_syntax_result_t;

/* results = space::callee(args, keywords) { attributes } bodies;
 * `x + y` of the module form is `add`, `-x` is `neg`, and so on, in the space "rlxc". Spaces: "tensor" (alloc, constant), "symbol", "rlxc"
 * (operators; `rlx.` of the module form, too, but for rlx.tensor, rlx.scalar and rlx.constant, which are tensor::alloc and tensor::constant). */
typedef struct rlx_syntax_statement {
    rlx_span_t span; /* from the first result to the last argument; of several lines, the first counts */
    int n_results;
    rlx_syntax_result_t *results;
    const char *space, *callee; /* callee NULL: the statement was not understood; its results are known to be broken */
    rlx_span_t callee_span;
    int n_args;
    rlx_syntax_value_t **args;
    int n_keywords;
    rlx_syntax_field_t *keywords;
    int n_attributes; /* the module form has keywords only: the builder takes either for either */
    rlx_syntax_field_t *attributes;
    int n_bodies;
    rlx_syntax_function_t **bodies;
    const char *where; /* "FILE:LINE:COLUMN" for messages of later passes; NULL: made of the span. Importers say "node 'conv1' (Conv)" */
} rlx_syntax_statement_t;

/* @name(args, keywords) above a function. */
typedef struct rlx_syntax_decorator {
    const char *name; /* "rlx.module", "parallelize" ... */
    rlx_span_t span;
    int n_args;
    rlx_syntax_value_t **args;
    int n_keywords;
    rlx_syntax_field_t *keywords;
} rlx_syntax_decorator_t;

typedef struct rlx_syntax_output {
    const char *name; /* of the key of a returned dict; NULL: the value's own */
    rlx_span_t span;
    rlx_syntax_value_t *value; /* REF */
} rlx_syntax_output_t;

/* A module (at the top of a file) or a body (of an op that runs graphs). */
struct rlx_syntax_function {
    const char *name; /* of a module; NULL: none was written, the file's name serves */
    rlx_span_t span;
    int n_decorators; /* module form; `@rlx.module` itself is among the attributes: module(seed=1) is seed */
    rlx_syntax_decorator_t *decorators;
    int n_attributes; /* of a module: seed, accuracy, determinism, precision */
    rlx_syntax_field_t *attributes;
    int n_parameters; /* def f(x: rlx.tensor(...)): statements without a body, in front of the others; today the forms have none */
    rlx_syntax_statement_t **parameters;
    int n_statements;
    rlx_syntax_statement_t **statements;
    int n_outputs;
    rlx_syntax_output_t *outputs;
    bool returns; /* a return was written; else the outputs are the values that nobody uses */
    rlx_span_t return_span;
};

struct rlx_syntax {
    const char *path;    /* of the file, for messages and for files beside it; borrowed text of the arena */
    int version;         /* schema version as written; 0: none was written. Upgrading (ir/text/version.h) makes it the current one */
    int written;         /* what it was before; set by upgrading */
    rlx_span_t version_span;
    int n_modules;
    rlx_syntax_function_t **modules; /* the last one is what a compiler compiles unless told otherwise; others are called by name */
    struct rlx_syntax_arena *arena;
};

rlx_syntax_t *rlx_syntax_create(const char *path);
void rlx_syntax_destroy(rlx_syntax_t *syntax);
bool rlx_syntax_is_full(const rlx_syntax_t *syntax);

/* Zeroed memory that lives as long as the tree, 16-byte aligned, from 64 bytes on 64-byte aligned. */
void *rlx_syntax_alloc(rlx_syntax_t *syntax, size_t bytes);
const char *rlx_syntax_strndup(rlx_syntax_t *syntax, const char *text, size_t bytes);
const char *rlx_syntax_printf(rlx_syntax_t *syntax, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A name no result of the tree has: "PREFIX.1" and so on; `.` makes it one that Python cannot write. */
const char *rlx_syntax_fresh(rlx_syntax_t *syntax, const char *prefix);
/* `items` with room for element `n`: doubled, and moved, when n is 0, 4, 8, 16 and so on */
void *rlx_syntax_grow(rlx_syntax_t *syntax, void *items, int n, size_t item_bytes);

rlx_syntax_value_t *rlx_syntax_value(rlx_syntax_t *syntax, rlx_syntax_kind_t kind, rlx_span_t span);
void rlx_syntax_value_add(rlx_syntax_t *syntax, rlx_syntax_value_t *list, rlx_syntax_value_t *item);
/* Appends to an array of fields, with its count. */
void rlx_syntax_field_add(rlx_syntax_t *syntax, rlx_syntax_field_t **fields, int *n_fields, const char *name, rlx_span_t name_span,
                          rlx_syntax_value_t *value);
rlx_syntax_function_t *rlx_syntax_module_add(rlx_syntax_t *syntax, rlx_span_t span);
rlx_syntax_statement_t *rlx_syntax_statement_add(rlx_syntax_t *syntax, rlx_syntax_function_t *function, rlx_span_t span);
rlx_syntax_result_t *rlx_syntax_result_add(rlx_syntax_t *syntax, rlx_syntax_statement_t *statement, const char *name, rlx_span_t span);
void rlx_syntax_arg_add(rlx_syntax_t *syntax, rlx_syntax_statement_t *statement, rlx_syntax_value_t *value);
void rlx_syntax_output_add(rlx_syntax_t *syntax, rlx_syntax_function_t *function, const char *name, rlx_span_t span, rlx_syntax_value_t *value);

/* All elements have the same bits, there are at least 4, and the text may hold that many: it is written {fill=x}. */
bool rlx_syntax_tensor_is_fill(const rlx_tensor_t *tensor);
/* The field called `name`, or NULL. */
const rlx_syntax_field_t *rlx_syntax_field(const rlx_syntax_field_t *fields, int n_fields, const char *name);
/* "a list", "an integer" ... for messages. */
const char *rlx_syntax_kind_name(rlx_syntax_kind_t kind);

#endif
