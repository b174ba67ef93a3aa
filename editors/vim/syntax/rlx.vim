" RLX-IR, module form (*.rlx): Python's syntax, and what it has not of Python's words shown as mistakes
if exists("b:current_syntax")
  finish
endif

syntax case match
syntax keyword rlxTodo       TODO FIXME XXX contained
syntax match   rlxComment    "#.*$" contains=rlxTodo,rlxSync,@Spell
syntax match   rlxSync       "\<sync\(_mode\)\?\s*[:=].*" contained
syntax region  rlxString     start=+[rRuU]\?"+ skip=+\\.+ end=+"\|$+ contains=rlxEscape
syntax region  rlxString     start=+[rRuU]\?'+ skip=+\\.+ end=+'\|$+ contains=rlxEscape
syntax region  rlxString     start=+[rRuU]\?"""+ skip=+\\.+ end=+"""+ contains=rlxEscape,@Spell
syntax region  rlxString     start=+[rRuU]\?'''+ skip=+\\.+ end=+'''+ contains=rlxEscape,@Spell
syntax match   rlxEscape     +\\\([\\'"abfnrtv]\|x\x\{2}\|u\x\{4}\)+ contained
syntax match   rlxDecorator  "^\s*@[A-Za-z_.]\+"
syntax keyword rlxStatement  def return pass for in if elif else
syntax keyword rlxLogic      and or not
syntax keyword rlxConstant   True False None
syntax keyword rlxBuiltin    range len min max sum abs int float str list tuple round enumerate zip
syntax match   rlxOperator   "\<rlx\.\zs[A-Za-z_0-9]\+"
syntax match   rlxNumpy      "\<\(np\|numpy\)\(\.random\)\?\.[A-Za-z_0-9]\+"
syntax match   rlxType       "\<\(np\|rlx\)\.\(float\|bfloat\|int\|uint\)\d\+\>\|\<\(np\|rlx\)\.bool_\?\>"
syntax match   rlxArgument   "\<[A-Za-z_][A-Za-z0-9_]*\ze\s*=[^=]"
syntax match   rlxNumber     "\<\d[0-9_]*\(\.[0-9_]*\)\?\([eE][-+]\?\d\+\)\?\>\|\<0[xX]\x\+\>"
syntax keyword rlxRefused    import from class while with try except finally raise assert del global nonlocal async await yield lambda break continue is

highlight default link rlxTodo      Todo
highlight default link rlxComment   Comment
highlight default link rlxSync      Error
highlight default link rlxString    String
highlight default link rlxEscape    SpecialChar
highlight default link rlxDecorator PreProc
highlight default link rlxStatement Keyword
highlight default link rlxLogic     Operator
highlight default link rlxConstant  Constant
highlight default link rlxBuiltin   Function
highlight default link rlxOperator  Function
highlight default link rlxNumpy     Function
highlight default link rlxType      Type
highlight default link rlxArgument  Label
highlight default link rlxNumber    Number
highlight default link rlxRefused   Error

setlocal commentstring=#\ %s shiftwidth=4 softtabstop=4 expandtab
let b:current_syntax = "rlx"
