export default {
  modules: ['workflow/nitro'],
  plugins: ['plugins/world.mjs'],
  serverDir: './',
  compatibilityDate: '2026-11-01',
  // Dependencies that were traced, and copied beside the server, collide with those that its steps are bundled with.
  noExternals: true,
  rollupConfig: { external: ['@ai-sdk/anthropic', /^toolwright/, '@opentelemetry/api', 'ai', 'pg', 'pg-native', 'ws'] },
}
