#include "target/elf_image.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 64
#define IMAGE_BYTES_MAX ((uint64_t)64 << 20)

const char rlx_elf_image_script[] =
    "SECTIONS {\n"
    "  . = 0;\n"
    "  .text : ALIGN(64) { *(.text .text.*) }\n"
    "  .rodata : ALIGN(64) { *(.rodata .rodata.*) }\n"
    "  .image_end : { BYTE(0) }\n"
    "  .data : { *(.data .data.* .tdata .tdata.* .data.rel.ro .data.rel.ro.*) }\n"
    "  .bss : { *(.bss .bss.* .tbss .tbss.* COMMON) }\n"
    "  .got : { *(.got .got.plt .igot .igot.plt) }\n"
    "  .rela.dyn : { *(.rela.dyn .rela.plt .rela.*) }\n"
    "  .dynsym : { *(.dynsym) }\n"
    "  .gnu.hash : { *(.gnu.hash) }\n"
    "  .hash : { *(.hash) }\n"
    "  .dynstr : { *(.dynstr) }\n"
    "  .dynamic : { *(.dynamic) }\n"
    "  .init_array : { *(.init_array .init_array.* .ctors .fini_array .dtors) }\n"
    "  /DISCARD/ : { *(.comment .note .note.* .eh_frame .eh_frame_hdr .llvm_addrsig) }\n"
    "}\n";

static const Elf64_Ehdr *header(const rlx_elf_t *elf) { return (const Elf64_Ehdr *)elf->data; }
static const Elf64_Shdr *sections(const rlx_elf_t *elf) { return (const Elf64_Shdr *)(elf->data + header(elf)->e_shoff); }

static bool inside(const rlx_elf_t *elf, uint64_t offset, uint64_t bytes) { return offset <= elf->bytes && bytes <= elf->bytes - offset; }

/* Text at `offset` of the string section `index`; "" where it is not inside. */
static const char *text_at(const rlx_elf_t *elf, uint32_t index, uint64_t offset)
{
    const Elf64_Shdr *table = sections(elf) + index;

    if (index >= header(elf)->e_shnum || offset >= table->sh_size ||
        memchr(elf->data + table->sh_offset + offset, 0, table->sh_size - offset) == NULL)
        return "";
    return (const char *)elf->data + table->sh_offset + offset;
}

static const char *section_name(const rlx_elf_t *elf, const Elf64_Shdr *section)
{
    return text_at(elf, header(elf)->e_shstrndx, section->sh_name);
}

static const Elf64_Shdr *section_find(const rlx_elf_t *elf, const char *name)
{
    for (uint32_t i = 0; i < header(elf)->e_shnum; i++)
        if (strcmp(section_name(elf, sections(elf) + i), name) == 0)
            return sections(elf) + i;
    return NULL;
}

static const Elf64_Sym *symbols(const rlx_elf_t *elf, uint64_t *out_count, uint32_t *out_strings)
{
    const Elf64_Shdr *table = section_find(elf, ".symtab");

    *out_count = table != NULL ? table->sh_size / sizeof(Elf64_Sym) : 0;
    *out_strings = table != NULL ? table->sh_link : 0;
    return table != NULL ? (const Elf64_Sym *)(elf->data + table->sh_offset) : NULL;
}

rlx_status_t rlx_elf_check(const rlx_elf_t *elf, rlx_diag_t *diag)
{
    bool good = elf->bytes >= sizeof(Elf64_Ehdr) && memcmp(elf->data, ELFMAG, SELFMAG) == 0 && elf->data[EI_CLASS] == ELFCLASS64 &&
                header(elf)->e_shentsize == sizeof(Elf64_Shdr) && header(elf)->e_shoff % 8 == 0 &&
                inside(elf, header(elf)->e_shoff, (uint64_t)header(elf)->e_shnum * sizeof(Elf64_Shdr));

    for (uint32_t i = 0; good && i < header(elf)->e_shnum; i++) {
        const Elf64_Shdr *section = sections(elf) + i;

        good = section->sh_type == SHT_NOBITS || (inside(elf, section->sh_offset, section->sh_size) &&
                                                  (section->sh_type != SHT_SYMTAB || section->sh_offset % 8 == 0));
    }
    return good ? RLX_OK : rlx_fail(diag, RLX_E_TARGET_TOOL, "the linker wrote no ELF file that is understood");
}

static int name_compare(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void names_join(const char **names, int n, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    qsort(names, (size_t)n, sizeof *names, name_compare);
    for (int i = 0; i < n && used + strlen(names[i]) + 8 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", names[i]);
}

/* Names of the symbols of one section. */
static void names_of(const rlx_elf_t *elf, uint32_t section, char *out, size_t size)
{
    const char *names[NAMES_MAX];
    uint64_t count;
    uint32_t strings;
    const Elf64_Sym *symbol = symbols(elf, &count, &strings);
    int n = 0;

    for (uint64_t i = 1; i < count && n < NAMES_MAX; i++)
        if (symbol[i].st_shndx == section && text_at(elf, strings, symbol[i].st_name)[0] != '\0')
            names[n++] = text_at(elf, strings, symbol[i].st_name);
    names_join(names, n, out, size);
}

void rlx_elf_undefined(const rlx_elf_t *elf, char *out, size_t size) { names_of(elf, SHN_UNDEF, out, size); }

bool rlx_elf_symbol(const rlx_elf_t *elf, const char *name, uint64_t *out_address)
{
    uint64_t count;
    uint32_t strings;
    const Elf64_Sym *symbol = symbols(elf, &count, &strings);

    for (uint64_t i = 1; i < count; i++)
        if (symbol[i].st_shndx != SHN_UNDEF && strcmp(text_at(elf, strings, symbol[i].st_name), name) == 0) {
            *out_address = symbol[i].st_value;
            return true;
        }
    return false;
}

static rlx_status_t writable_refuse(const rlx_elf_t *elf, rlx_diag_t *diag)
{
    static const char *const refused[] = {".data", ".bss", ".got", ".rela.dyn", ".init_array"};
    char names[256];

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const Elf64_Shdr *section = section_find(elf, refused[i]);

        if (section == NULL || section->sh_size == 0)
            continue;
        names_of(elf, (uint32_t)(section - sections(elf)), names, sizeof names);
        rlx_fail(diag, RLX_E_CUSTOM_CODE, "it has variables that outlive a call, or tables of addresses: %s (%llu bytes in %s)",
                 names[0] != '\0' ? names : "without a name", (unsigned long long)section->sh_size, refused[i]);
        return rlx_diag_hint(diag, "Custom code is mapped read-only and called by many threads: keep data in arguments, on the stack, or in "
                                   "constants.");
    }
    return RLX_OK;
}

rlx_status_t rlx_elf_flatten(const rlx_elf_t *elf, void **out_data, size_t *out_bytes, rlx_diag_t *diag)
{
    static const char *const taken[] = {".text", ".rodata"};
    const Elf64_Shdr *end = section_find(elf, ".image_end");
    uint8_t *image;

    RLX_TRY(writable_refuse(elf, diag));
    if (end == NULL || end->sh_addr == 0 || end->sh_addr > IMAGE_BYTES_MAX)
        return rlx_fail(diag, RLX_E_CUSTOM_CODE, "it is empty, or larger than %d MiB", (int)(IMAGE_BYTES_MAX >> 20));
    image = calloc(1, end->sh_addr);
    if (image == NULL)
        return rlx_fail(diag, RLX_E_NO_MEMORY, "no memory for the code");
    for (uint32_t i = 0; i < header(elf)->e_shnum; i++) {
        const Elf64_Shdr *section = sections(elf) + i;
        const char *name = section_name(elf, section);
        bool known = strcmp(name, taken[0]) == 0 || strcmp(name, taken[1]) == 0;

        if ((section->sh_flags & SHF_ALLOC) == 0 || section->sh_size == 0 || section->sh_addr >= end->sh_addr)
            continue;
        if (!known || section->sh_type == SHT_NOBITS || section->sh_size > end->sh_addr - section->sh_addr) {
            rlx_fail(diag, RLX_E_CUSTOM_CODE, "section '%s' has no place in a code image", name);
            free(image);
            return RLX_INVALID_ARGUMENT;
        }
        memcpy(image + section->sh_addr, elf->data + section->sh_offset, section->sh_size);
    }
    *out_data = image;
    *out_bytes = end->sh_addr;
    return RLX_OK;
}
