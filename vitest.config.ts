import { configDefaults, defineConfig } from 'vitest/config'

// These tests need programs or servers that npm and cargo do not bring: `npm run test:systems`.
const systems = '__test__/systems/**/*.test.ts'
const onlySystems = process.env['TOOLWRIGHT_TEST_SYSTEMS'] === '1'
const inBun = process.env['TOOLWRIGHT_TEST_RUNTIME'] === 'bun'
// What they attack is a program of its own, the same under either runtime, and they take long: under
// Bun they run with `npm run test:systems`. Without confinement some of them succeed against the whole
// machine (a storm of processes, a setting of the kernel), so nothing runs beside them.
const attacks = ['attacks', 'layers', 'leftovers', 'survivors'].map((name) => `__test__/confinement/${name}.test.ts`)
/** What it measures is memory, which is given back later on a busy machine. */
const sizes = '__test__/toolkit/sizes.test.ts'

/** What Bun's own sockets, processes and timers could change; the others start programs that are the same under either runtime. */
const systemsInBun = ['postgres', 'durable'].map((name) => `__test__/systems/${name}/**/*.test.ts`)

/** Servers and workers that are made for Node, whatever the runtime of the test. */
const forNode = ['temporal', 'workflow-devkit'].map((name) => `__test__/systems/durable/${name}.test.ts`)

/** One after the other, before the rest. */
const alone = {
  include: onlySystems ? (inBun ? [...attacks, sizes, ...systemsInBun] : [systems]) : [...attacks, sizes],
  exclude: [...configDefaults.exclude, ...(inBun ? forNode : [])],
  maxWorkers: 1,
}
/** Most of them wait for something most of the time. */
const together = {
  include: ['__test__/**/*.test.ts'],
  exclude: [...configDefaults.exclude, systems, ...attacks, ...(inBun ? [] : [sizes])],
  maxWorkers: 3,
}
const groups = onlySystems ? [alone] : inBun ? [together] : [alone, together]

export default defineConfig({
  test: {
    // A process for each file: the addon keeps state per process, and some tests kill theirs.
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // A failure that is seen once has to say all of what it saw.
    chaiConfig: { truncateThreshold: 2_000 },
    projects: groups.map((group, groupOrder) => ({
      extends: true as const,
      test: { ...group, name: group === alone ? 'alone' : 'together', sequence: { groupOrder } },
    })),
  },
})
