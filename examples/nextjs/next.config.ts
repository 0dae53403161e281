import type { NextConfig } from 'next'

const config: NextConfig = {
  // Pages are rendered in advance, except what waits for the user in <Suspense>.
  cacheComponents: true,
  partialPrefetching: true,
  // Otherwise Next.js takes a folder above this one if there is another lockfile.
  turbopack: { root: import.meta.dirname },
}

export default config
