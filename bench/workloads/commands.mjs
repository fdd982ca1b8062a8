import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writeSmallProgram } from '../small-program.mjs'
import { sourceText } from '../source-text.mjs'

const run = promisify(execFile)
const AT_ONCE = 64
/** The most that either package's `bash` may be given. */
const maxOutputBytes = 10_485_760

const silent = (answer) => assert.equal(answer, '', 'something was printed')

const running = starting(() => 'true')

const runningSmall = starting((folder) => {
  const program = join(folder, 'small')
  writeSmallProgram(program)
  return program
})

function starting(programIn) {
  return ({ folder, toolsets, floor }) => {
    const cmd = programIn(folder)
    const contenders = { spawn: { run: async () => (await run(cmd, [], { cwd: folder })).stdout, verify: silent } }
    if (floor) contenders.floor = { run: () => floor.run(cmd, folder), verify: silent }
    for (const [name, call] of Object.entries(toolsets({ rootDir: folder }))) {
      contenders[name] = { run: () => call('bash', { cmd }), verify: silent }
    }
    return contenders
  }
}

function runningMany({ folder, toolsets, floor }) {
  const contenders = {}
  if (floor) {
    contenders.floor = {
      run: () => Promise.all(Array.from({ length: AT_ONCE }, () => floor.run('true', folder))),
      verify: (answers) => answers.forEach(silent),
    }
  }
  for (const [name, call] of Object.entries(toolsets({ rootDir: folder }))) {
    contenders[name] = {
      run: () => Promise.all(Array.from({ length: AT_ONCE }, () => call('bash', { cmd: 'true' }))),
      verify: (answers) => answers.forEach(silent),
    }
  }
  return contenders
}

function capturing(bytes) {
  return ({ folder, toolsets }) => {
    const text = sourceText(31, bytes)
    const file = `printed-${bytes}.txt`
    writeFileSync(join(folder, file), text)
    const verify = (answer) => assert.ok(answer === text, 'another text was captured')
    const options = { cwd: folder, maxBuffer: 1 << 26 }
    const contenders = { spawn: { run: async () => (await run('cat', [file], options)).stdout, verify } }
    for (const [name, call] of Object.entries(toolsets({ rootDir: folder, maxOutputBytes }))) {
      contenders[name] = { run: () => call('bash', { cmd: 'cat', args: [file] }), verify }
    }
    return contenders
  }
}

const often = { quick: { rounds: 15, batch: 3, budgetMs: 1_500 }, full: { rounds: 80, batch: 5, budgetMs: 12_000 } }
const seldom = { quick: { rounds: 6, batch: 1, budgetMs: 2_000 }, full: { rounds: 40, batch: 1, budgetMs: 12_000 } }
const together = {
  quick: { rounds: 4, batch: 1, budgetMs: 4_000, delay: true },
  full: { rounds: 15, batch: 1, budgetMs: 25_000, delay: true },
}

export const workloads = [
  { id: 'exec', alone: true, effort: often, hasFloor: true, contenders: running },
  { id: 'exec-filters', alone: true, without: 'namespaces', effort: often, hasFloor: true, contenders: running },
  { id: 'exec-330', residentMb: 330, effort: often, hasFloor: true, contenders: running },
  { id: 'exec-1800', residentMb: 1_800, effort: often, hasFloor: true, contenders: running },
  { id: 'exec-small', alone: true, effort: often, hasFloor: true, contenders: runningSmall },
  { id: 'exec-small-330', residentMb: 330, effort: often, hasFloor: true, contenders: runningSmall },
  { id: 'exec-small-1800', residentMb: 1_800, effort: often, hasFloor: true, contenders: runningSmall },
  { id: 'exec-bun', alone: true, runtime: 'bun', effort: often, hasFloor: true, contenders: running },
  { id: 'capture-1m', residentMb: 330, effort: seldom, contenders: capturing(1_000_000) },
  { id: 'capture-10m', residentMb: 330, effort: seldom, contenders: capturing(10_000_000) },
  { id: 'parallel-exec', residentMb: 330, effort: together, hasFloor: true, contenders: runningMany },
]
