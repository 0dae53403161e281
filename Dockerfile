# Laurel in a container. docs/self-hosting.md says how to run it.
FROM node:22-bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends binutils ca-certificates
WORKDIR /laurel
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript/package.json clients/typescript/
COPY clients/react/package.json clients/react/
COPY cli/package.json cli/
COPY console/package.json console/
RUN npm ci
COPY . .
RUN node scripts/serve.mjs build
# All that the server needs, and nothing else: its scripts, the build, Node, workerd, the small shell that watches
# workerd, modern-tar for backups, the libraries of these programs, certificates for calls by https, and a user. The
# large programs lose their symbols.
RUN mkdir -p /out/laurel/node_modules/@cloudflare /out/laurel/node_modules/workerd /out/usr/local/bin /out/usr/bin /out/bin /out/etc/ssl/certs \
  && cp -a package.json scripts /out/laurel/ \
  && mkdir /out/laurel/dist && cp -a dist/serve /out/laurel/dist/ \
  && cp -a node_modules/modern-tar /out/laurel/node_modules/ \
  && cp -a node_modules/workerd/package.json node_modules/workerd/bin node_modules/workerd/lib /out/laurel/node_modules/workerd/ \
  && cp -a node_modules/@cloudflare/workerd-linux-* /out/laurel/node_modules/@cloudflare/ \
  && cp "$(command -v node)" /out/usr/local/bin/node \
  && strip /out/usr/local/bin/node /out/laurel/node_modules/@cloudflare/workerd-linux-*/bin/workerd \
  && cp /bin/sh /out/bin/sh && cp /usr/bin/env /out/usr/bin/env \
  && ldd /bin/sh /usr/bin/env /out/usr/local/bin/node /out/laurel/node_modules/@cloudflare/workerd-linux-*/bin/workerd \
    | grep --only-matching '/[^ :]*\.so[^ ]*' | sort --unique | xargs cp --parents --dereference --target-directory=/out \
  && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
  && echo 'laurel:x:1000:1000::/data:/none' > /out/etc/passwd \
  && echo 'laurel:x:1000:' > /out/etc/group \
  && echo 'hosts: files dns' > /out/etc/nsswitch.conf \
  && install --directory --mode=0700 /own/data /own/backups

FROM scratch
COPY --from=build /out /
COPY --from=build --chown=1000:1000 /own /
WORKDIR /laurel
ENV PATH=/usr/local/bin:/usr/bin:/bin HOST=0.0.0.0 PORT=8787 LAUREL_DATA=/data SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 1000:1000
VOLUME /data
EXPOSE 8787
# The start may apply migrations to much data. It ends by itself if it fails.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10m \
  CMD ["/usr/local/bin/node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/local/bin/node", "scripts/serve.mjs"]
CMD ["--built"]
