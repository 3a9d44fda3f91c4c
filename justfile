# Every line calls cargo or a script; nothing lives only here.

# What CI checks before the tests: formatting, lints, and dependencies.
check:
    scripts/check

# Every tier of the tests, in their short form.
test *arguments:
    scripts/test {{arguments}}

# Start the server.
run *arguments:
    cargo run --release -- {{arguments}}

# The fuzz targets with libFuzzer, a minute for each; see the script.
fuzz *arguments:
    scripts/fuzz {{arguments}}

# The property tests of the socket, with this many cases of each: frames, topics, and the protocol machine.
properties cases="1000000":
    PROPTEST_CASES={{cases}} cargo test --release -p ws-gateway --lib generated_input

# Start-up time and memory of the built server.
measure:
    scripts/measure

# Memory of a server that works for hours: thirty agents, fifty messages a second, two hours.
soak *arguments:
    scripts/soak {{arguments}}

# The table of docs/performance.md on both stores, or one part of it: sends, reads, loops, memory, fanout, connect, …
bench *arguments:
    scripts/bench {{arguments}}

# The pure parts under criterion, about two minutes when they are built: mentions, frames, cursors.
micro *filter:
    cargo bench --locked -p domain -p ws-gateway -p http-wire --bench mentions --bench frames --bench cursors -- {{filter}}

# Instructions of the send path, of /next and of pushed frames against the checked-in figures; --renew takes new ones.
guard *arguments:
    scripts/guard {{arguments}}

# Build the console into crates/http-console/assets, also after a merge conflict there.
console:
    console/build

# Take the pictures of docs/console.md with Chromium and the built server.
pictures:
    console/install
    cd console && PARLANCE_BIN="${PARLANCE_BIN:-$PWD/../target/debug/parlance}" CONSOLE_ASSETS="$PWD/../crates/http-console/assets" node tests/pictures.mjs --docs

# Build the book of the documents into target/book/html, and check its links.
book:
    scripts/book

# Write the software bill of materials of the program.
sbom file="target/parlance.cdx.json":
    scripts/sbom {{file}}

# Bring docs/openapi/openapi.json up to date with the code
openapi:
    mkdir -p docs/openapi
    cargo run -q -p server -- openapi > docs/openapi/openapi.json

# Bring docs/configuration.md up to date with the code
configuration:
    cargo run -q -p server -- config reference > docs/configuration.md
