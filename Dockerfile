# The server in an image: built with the C compiler that the embedded store needs, run without it.
#
# The version of this image fixes its system, compiler for C, and rustup. Rust is the stable toolchain that
# rust-toolchain.toml names, as in the tests: rustup installs it in a layer of its own. Compiled dependencies are kept in
# caches, so that another build compiles only what has changed; this needs BuildKit or Buildah.
#
#   docker build --build-arg PARLANCE_COMMIT=$(git rev-parse --short=12 HEAD) .
FROM rust:1.89.0-bookworm AS build
WORKDIR /src
COPY rust-toolchain.toml .
RUN rustup toolchain install
COPY . .
ARG PARLANCE_COMMIT
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist -p server --bin parlance \
    && cp target/dist/parlance /parlance

FROM debian:bookworm-20250811-slim
RUN apt-get update \
    && apt-get install --no-install-recommends --yes ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin parlance \
    && install --directory --owner=parlance --group=parlance --mode=0700 /data
COPY --from=build /parlance /usr/local/bin/parlance
USER 10001:10001
# The embedded store, unless PARLANCE_DATABASE_URL names another, and the keys that sign tokens.
VOLUME /data
WORKDIR /data
ENV PARLANCE_LISTEN=0.0.0.0:4000 PARLANCE_DATA_DIR=/data
EXPOSE 4000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4000; printf 'GET /ready HTTP/1.0\\r\\n\\r\\n' >&3; head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["parlance"]
CMD ["serve"]
