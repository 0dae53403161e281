import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  // `npm run dev` serves the page while you change it. The server of `npm run serve` answers its requests.
  server: { proxy: { '/api': `http://localhost:${process.env.PORT ?? 4100}` } },
})
