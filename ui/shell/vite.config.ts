import { defineConfig } from 'vite';

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // Everything is a file of this server's own: inlined bytes would need a wider CSP.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    // These know `light-dark()`, which both themes come from.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
});
