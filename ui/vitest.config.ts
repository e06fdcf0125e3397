import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: { alias: { '@lineup/bridge': fileURLToPath(new URL('./bridge/src/index.ts', import.meta.url)) } },
  server: { fs: { allow: ['..'] } },
  test: {
    environment: 'happy-dom',
    include: ['bridge/src/**/*.test.ts', 'shell/src/**/*.test.{ts,tsx}', '../miniapps/*/surface/*.test.ts'],
    restoreMocks: true,
  },
});
