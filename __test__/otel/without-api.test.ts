import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import { makeSandbox } from '../support/sandbox.ts'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))

/** Runs a program where nothing but this package is installed. */
function runAlone(program: string) {
  const { root, at } = makeSandbox()
  cpSync(dist, at('dist'), { recursive: true })
  writeFileSync(at('package.json'), '{"type":"module"}')
  writeFileSync(at('program.js'), program)
  // Where there is no such folder, Bun installs what is missing.
  mkdirSync(at('node_modules'))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['program.js'], { cwd: root, encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('without @opentelemetry/api the error says in one line what to install', () => {
  const program = `
    import { instrumentTools } from './dist/otel.js'
    try { instrumentTools() } catch (error) { console.log(error.code, error.message) }`
  const { status, stdout, stderr } = runAlone(program)
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^INVALID_INPUT The package @opentelemetry\/api is not installed\. Run npm install @opentelemetry\/api.*\n$/u)
})

test('the same of journals', () => {
  const program = `
    import { instrumentJournals } from './dist/otel.js'
    try { instrumentJournals() } catch (error) { console.log(error.code, error.message) }`
  const { status, stdout, stderr } = runAlone(program)
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^INVALID_INPUT .*The package @opentelemetry\/api is not installed/u)
})

test('a bundle hands its own copy over', () => {
  const program = `
    import { instrumentTools } from './dist/otel.js'
    const api = { trace: { getTracer: (name) => (console.log(name), { startSpan: () => ({}) }) }, context: {} }
    instrumentTools({ api }).dispose()`
  expect(runAlone(program)).toEqual({ status: 0, stdout: 'toolwright\n', stderr: '' })
})

test('a bundle in CommonJS finds the package in node_modules', async () => {
  const { at, put } = makeSandbox()
  const entry = put(
    'main.mjs',
    `import { instrumentTools } from ${JSON.stringify(`${dist}/otel.js`)}\nusing _ = instrumentTools()\nconsole.log('instrumented')`,
  )
  const bundle = await rolldown({ input: entry, platform: 'node', logLevel: 'silent', external: [/^node:/u] })
  await bundle.write({ file: at('main.cjs'), format: 'cjs', codeSplitting: false })
  put('node_modules/@opentelemetry/api/package.json', '{"main":"index.js"}')
  put('node_modules/@opentelemetry/api/index.js', 'exports.trace = { getTracer: () => ({}) }; exports.context = {}')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['main.cjs'], { cwd: at('.'), encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'instrumented\n', stderr: '' })
})
