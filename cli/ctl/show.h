/* JSON for people and programs: a table, JSON or YAML. Nothing that came from the network reaches the terminal unescaped. */
#ifndef RLX_CLI_CTL_SHOW_H
#define RLX_CLI_CTL_SHOW_H

#include <jansson.h>
#include <stdio.h>

typedef enum rlx_ctl_form { RLX_CTL_TABLE, RLX_CTL_JSON, RLX_CTL_YAML } rlx_ctl_form_t;

/* A list of maps is a table with a column per key; a map is a line per key, what nests stands below it. */
void rlx_ctl_show(const json_t *value, rlx_ctl_form_t form, FILE *out);

#endif
