# Run at build time by ddpprof_embed: writes the .cpp that holds one file's bytes.
cmake_policy(VERSION 3.25)
file(SIZE ${file} size)
set(start ddpprof_embedded_${symbol})
file(WRITE ${source} "#include \"embedded/${symbol}.h\"

asm(\".pushsection .rodata\\n\"
    \".global ${start}\\n\"
    \".type ${start}, @object\\n\"
    \".size ${start}, ${size}\\n\"
    \".balign 16\\n\"
    \"${start}:\\n\"
    \".incbin \\\"${file}\\\"\\n\"
    \".byte 0\\n\"
    \".popsection\\n\");

extern \"C\" const char ${start}[];

namespace ddpprof::embedded {
constinit const std::string_view ${symbol}{${start}, ${size}};
}  // namespace ddpprof::embedded
")
