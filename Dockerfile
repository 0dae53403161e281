# Laurel in a container. docs/self-hosting.md says how to run it.
FROM node:22-bookworm-slim AS build
WORKDIR /laurel
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript/package.json clients/typescript/
COPY clients/react/package.json clients/react/
COPY console/package.json console/
RUN npm ci
COPY . .
RUN node scripts/serve.mjs build
# Only what the server needs: its scripts, the build, workerd, and modern-tar for backups.
RUN mkdir -p /out/node_modules/@cloudflare \
  && cp -a package.json scripts /out/ \
  && mkdir /out/dist && cp -a dist/serve /out/dist/ \
  && cp -a node_modules/workerd node_modules/modern-tar /out/node_modules/ \
  && cp -a node_modules/@cloudflare/workerd-linux-* /out/node_modules/@cloudflare/

FROM node:22-bookworm-slim
# Webhooks and providers are called by https.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=node --group=node --mode=0700 /data
WORKDIR /laurel
COPY --from=build /out ./
ENV HOST=0.0.0.0 PORT=8787 LAUREL_DATA=/data
USER node
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "scripts/serve.mjs", "--built"]
