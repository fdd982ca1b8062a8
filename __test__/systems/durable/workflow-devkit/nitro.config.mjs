export default {
  modules: ['workflow/nitro'],
  plugins: ['plugins/world.mjs'],
  serverDir: './',
  compatibilityDate: '2026-11-01',
  rollupConfig: { external: [/^toolwright/] },
}
