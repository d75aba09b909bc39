# The server in an image of its own: no shell, no root, and nothing written outside of /data and /tmp.
# How to use it is in docs/guide/install.md.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release -p spexus \
    && install -D -t /out/bin \
        target/release/spexus target/release/duvet target/release/tmkb target/release/requirements-mcp-server \
    && install -d /out/data

# The C library, certificate authorities, and a user.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /out/bin/ /usr/local/bin/
# A new volume takes this folder's owner.
COPY --from=build --chown=65532:65532 /out/data/ /data/
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/spexus/
USER 65532:65532
ENV SPEXUS_DATABASE=sqlite:/data/spexus.db \
    SPEXUS_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 CMD ["spexus", "health"]
ENTRYPOINT ["spexus"]
CMD ["serve"]
