" RLX-IR, SSA form (*.rlxir)
if exists("b:current_syntax")
  finish
endif

syntax case match
syntax match   rlxirComment   "//.*$\|#.*$" contains=rlxirSync,@Spell
syntax region  rlxirComment   start="/\*" end="\*/" contains=rlxirSync,@Spell
syntax match   rlxirSync      "\<sync\(_mode\)\?\s*[:=].*" contained
syntax region  rlxirString    start=+"+ skip=+\\.+ end=+"\|$+
syntax match   rlxirValue     "%[A-Za-z_][A-Za-z0-9_.]*\|%\"[^\"]*\""
syntax match   rlxirSpace     "\<[a-z_]\+\ze::"
syntax match   rlxirOperator  "::\zs[a-z_0-9]\+"
syntax match   rlxirAttribute "\<[A-Za-z_][A-Za-z0-9_]*\ze\s*=[^=]"
syntax match   rlxirType      "\<\(f16\|bf16\|f32\|f64\|i8\|i16\|i32\|i64\|u8\|u16\|u32\|u64\|bool\)\>"
syntax match   rlxirNumber    "\<-\?\d[0-9_]*\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?\>\|\<0x[0-9a-fA-F]\+\>"
syntax keyword rlxirConstant  true false none inf nan
syntax keyword rlxirKeyword   module return version

highlight default link rlxirComment   Comment
highlight default link rlxirSync      Error
highlight default link rlxirString    String
highlight default link rlxirValue     Identifier
highlight default link rlxirSpace     Include
highlight default link rlxirOperator  Function
highlight default link rlxirAttribute Label
highlight default link rlxirType      Type
highlight default link rlxirNumber    Number
highlight default link rlxirConstant  Constant
highlight default link rlxirKeyword   Keyword

setlocal commentstring=//\ %s
let b:current_syntax = "rlxir"
