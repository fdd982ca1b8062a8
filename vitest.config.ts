import { configDefaults, defineConfig } from 'vitest/config'

// These tests need programs or servers that npm and cargo do not bring: `npm run test:systems`.
const systems = '__test__/systems/**/*.test.ts'
const onlySystems = process.env['TOOLWRIGHT_TEST_SYSTEMS'] === '1'

export default defineConfig({
  test: {
    include: [onlySystems ? systems : '__test__/**/*.test.ts'],
    exclude: onlySystems ? configDefaults.exclude : [...configDefaults.exclude, systems],
    // A process for each file: the addon keeps state per process, and some tests kill theirs.
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
