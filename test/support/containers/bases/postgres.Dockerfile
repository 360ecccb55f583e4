# Without a locale, so that the arguments of initdb have to name the encoding.
FROM debian:bookworm-slim
RUN groupadd --gid 999 postgres \
  && useradd --uid 999 --gid postgres --home-dir /var/lib/postgresql --create-home postgres \
  && apt-get update \
  && apt-get install -y --no-install-recommends postgresql-client gosu \
  && rm -rf /var/lib/apt/lists/*
RUN install -d -o postgres -g postgres -m 3777 /var/run/postgresql
COPY native /usr/lib/postgresql/18
COPY postgres-entrypoint /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
