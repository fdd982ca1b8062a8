import { configDefaults, defineConfig } from 'vitest/config'

// These tests need programs or servers that npm and cargo do not bring: `npm run test:systems`.
const systems = '__test__/systems/**/*.test.ts'
const onlySystems = process.env['TOOLWRIGHT_TEST_SYSTEMS'] === '1'
// What they attack is a program of its own, the same under either runtime, and they take long: under
// Bun they run with `npm run test:systems`.
const attacks = ['attacks', 'layers', 'leftovers', 'survivors'].map((name) => `__test__/confinement/${name}.test.ts`)
const inBun = process.env['TOOLWRIGHT_TEST_RUNTIME'] === 'bun'
const excluded = inBun ? [systems, ...attacks] : [systems]

export default defineConfig({
  test: {
    include: onlySystems ? (inBun ? attacks : [systems]) : ['__test__/**/*.test.ts'],
    exclude: onlySystems ? configDefaults.exclude : [...configDefaults.exclude, ...excluded],
    // A process for each file: the addon keeps state per process, and some tests kill theirs.
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
