# syntax=docker/dockerfile:1

# Tags, not digests: no image registry was reachable where this was written. Pin the digests where you build:
# `docker buildx imagetools inspect <image>` prints them (docs/operating.md).

# The compiler is the Bun of package-lock.json, which also ran the tests.
FROM node:20.20.2-bookworm-slim AS build
USER node
RUN mkdir -p /home/node/nightledger
WORKDIR /home/node/nightledger
COPY --chown=node:node package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY --chown=node:node tsconfig.json ./
COPY --chown=node:node sql ./sql
COPY --chown=node:node src ./src
# The commit for `nightledger --version`, because the build has no git: --build-arg COMMIT=$(git rev-parse HEAD).
ARG COMMIT=unknown
RUN npm run build

# glibc, the certificates of public authorities, time zones, and the user `nonroot`. No shell.
FROM gcr.io/distroless/base-nossl-debian12:nonroot
COPY --from=build /home/node/nightledger/dist/nightledger /usr/local/bin/nightledger
# DATA_DIR holds the sockets between WORKERS: mount a tmpfs there if the root is read-only.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/run/nightledger
USER nonroot
WORKDIR /
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s --retries=3 CMD ["/usr/local/bin/nightledger", "health"]
ENTRYPOINT ["/usr/local/bin/nightledger"]
CMD ["serve"]
