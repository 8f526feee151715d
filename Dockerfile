# Railhead as a container, for linux/amd64 and linux/arm64. docs/docker.md says how to run it.

ARG DEBIAN=trixie

FROM node:24-${DEBIAN}-slim AS build
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libcap2-bin \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The lock file brings the Node.js that Railhead runs on: the same in the container as everywhere else. Its
# headers and manual are of no use here.
RUN npm ci --omit=dev --ignore-scripts --loglevel=error --no-update-notifier \
 && rm -rf node_modules/node-linux-*/include node_modules/node-linux-*/share
# TFTP is UDP port 69, and clients know no other. Railhead does not run as root, and on the host's network a
# container can't lower the limit for privileged ports, so Node itself gets the one right it needs. It counts
# only where the container has it (compose: cap_add), and not with the option no-new-privileges.
RUN setcap cap_net_bind_service=+ep node_modules/node-linux-*/bin/node
COPY server server
COPY templates templates
COPY scripts scripts


# kubectl and helm for the post-install pipeline: Debian's are too old for the Kubernetes of the example. The sums are
# those that the two projects publish; another version needs others.
FROM debian:${DEBIAN}-slim AS kubernetes-tools
ARG KUBECTL=1.36.4
ARG HELM=4.2.3
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates curl \
 && rm -rf /var/lib/apt/lists/*
RUN set -eu; arch=$(dpkg --print-architecture); \
    case $arch in \
      amd64) kubectl=8b8f088da2dab964f853b38464033b1be15ede2839eca751482357c45abdd05a \
             helm=e9b88b4ee95b18c706839c28d3a0220e5bc470e9cd9262410c90793c45ff8b7c ;; \
      arm64) kubectl=0ecf44450ee6063bf19dd166a103ee6df4a9034455c2abce626e6eea657d73fb \
             helm=21abd9354d39b2cd79a8d76be6912cd137a983cbf997193503fb8a6a6e2f2785 ;; \
      *) echo "there are no tools for $arch here" >&2; exit 1 ;; \
    esac; \
    curl -fsSL --retry 3 -o /usr/local/bin/kubectl "https://dl.k8s.io/release/v$KUBECTL/bin/linux/$arch/kubectl"; \
    curl -fsSL --retry 3 -o /tmp/helm.tar.gz "https://get.helm.sh/helm-v$HELM-linux-$arch.tar.gz"; \
    printf '%s  %s\n' "$kubectl" /usr/local/bin/kubectl "$helm" /tmp/helm.tar.gz | sha256sum --check --strict; \
    tar -xzf /tmp/helm.tar.gz -C /usr/local/bin --strip-components=1 "linux-$arch/helm"; \
    chmod 0755 /usr/local/bin/kubectl /usr/local/bin/helm


# DHCP for a lab without one (compose profile `lab`). Not part of Railhead's own image.
FROM debian:${DEBIAN}-slim AS lab-dhcp
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends dnsmasq-base \
 && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["dnsmasq", "--keep-in-foreground"]


FROM debian:${DEBIAN}-slim AS railhead
RUN groupadd --gid 10001 railhead \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/railhead --shell /usr/sbin/nologin railhead \
 && install -d -m 0750 -o 10001 -g 10001 /var/lib/railhead \
 && install -d -o 10001 -g 10001 /etc/railhead/inventory /srv/railhead /srv/railhead/boot /srv/railhead/assets \
 && ln -s /app/node_modules/.bin/node /usr/local/bin/node
COPY --from=kubernetes-tools /usr/local/bin/kubectl /usr/local/bin/helm /usr/local/bin/
# Whom they trust when they fetch charts: the slim image knows nobody.
COPY --from=kubernetes-tools /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /app /app
WORKDIR /app
ENV NODE_ENV=production \
    RAILHEAD_INVENTORY=/etc/railhead/inventory \
    RAILHEAD_DATA=/var/lib/railhead \
    RAILHEAD_BOOT=/srv/railhead/boot \
    RAILHEAD_ASSETS=/srv/railhead/assets \
    RAILHEAD_CACHE=/srv/railhead/cache
# /var/lib/railhead: database and keys, must not be lost. /srv/railhead: boot loaders and images, can be
# fetched again.
VOLUME ["/var/lib/railhead", "/srv/railhead"]
EXPOSE 69/udp 8080/tcp 8443/tcp
USER 10001:10001
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["node", "-e", "\
const bind = process.env.RAILHEAD_BIND || '0.0.0.0'; \
const host = bind === '0.0.0.0' ? '127.0.0.1' : bind === '::' ? '[::1]' : bind.includes(':') ? '[' + bind + ']' : bind; \
fetch('http://' + host + ':' + (process.env.RAILHEAD_HTTP_PORT || 8080) + '/healthz').then( \
  (answer) => process.exit(answer.ok ? 0 : 1), \
  (error) => { console.error(String(error.cause ?? error)); process.exit(1); });"]
ENTRYPOINT ["node", "--min-semi-space-size=16", "scripts/railhead.mjs"]
CMD ["up"]
