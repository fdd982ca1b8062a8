import { execFile, execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ProcessOwner } from '../../ts/core/process-owner.ts'
import { keep, says } from '../support/kept.ts'
import { eventually, expectGone, running, sleepingMark } from '../support/processes.ts'
import { randomNumbers, runs, seed } from '../support/randomised.ts'
import { makeSandbox } from '../support/sandbox.ts'

const sh = (script: string): [string, ...string[]] => ['sh', '-c', script]

/** A script that leaves processes in every way there is, and marks them. */
function tree(mark: string, below: (count: number) => number, depth = 0): string {
  const escape = [
    `sleep ${mark} &`,
    `setsid sleep ${mark} &`,
    `nohup sleep ${mark} >/dev/null 2>&1 &`,
    `(sleep ${mark} &) &`,
    `(setsid sh -c 'trap "" TERM HUP INT; sleep ${mark} & sleep ${mark}' &) &`,
    `setsid -f sleep ${mark};`,
    `sh -c 'sleep ${mark} & exit 3' &`,
  ]
  const parts = Array.from({ length: 1 + below(4) }, () => escape[below(escape.length)] ?? '')
  if (depth < 2 && below(2) === 0) parts.push(`( ${tree(mark, below, depth + 1)} ) &`)
  if (below(3) === 0) parts.unshift("trap '' TERM HUP INT;")
  return parts.join(' ')
}

test('no process of any tree is left after a kill, the end of its program, and the end of its owner', async () => {
  const { root } = makeSandbox()
  const below = randomNumbers(seed)
  const count = runs(70)
  for (let done = 0; done < count; done += 10) {
    const marks: string[] = []
    {
      await using owner = new ProcessOwner()
      for (let n = 0; n < Math.min(10, count - done); n += 1) {
        const mark = sleepingMark()
        marks.push(mark)
        const last = below(3) === 0 ? 'echo up; exit 0' : `echo up; sleep ${mark}`
        const process = await keep(root, sh(`${tree(mark, below)} ${last}`))
        owner.add(process)
        await says(process, 'up')
        if (below(2) === 0) void process.kill()
      }
    }
    for (const mark of marks) await expectGone(mark)
  }
}, 600_000)

test('no process of any tree is left after its host was killed', async () => {
  const { root } = makeSandbox()
  const below = randomNumbers(seed + 1)
  for (let round = 0; round < runs(3); round += 1) {
    const mark = sleepingMark()
    const scripts = Array.from({ length: 10 }, () => `${tree(mark, below)} echo up; sleep ${mark}`)
    const at = (path: string): string => JSON.stringify(new URL(`../../dist/${path}`, import.meta.url).href)
    const program = `
      import { startProcess } from ${at('core/kept-process.js')}
      import { planCommand } from ${at('toolkit/tools/call-plan.js')}
      import { resolveSettings } from ${at('toolkit/settings.js')}
      const tools = { rootDir: ${JSON.stringify(root)} }
      globalThis.kept = []
      for (const script of ${JSON.stringify(scripts)}) {
        const plan = planCommand({ cmd: 'sh', args: ['-c', script] }, { settings: resolveSettings(undefined, tools, 'bash') }, tools)
        const start = (addon, keep, cancel) => addon.startProcess(plan.settings(addon), plan.command, keep, cancel)
        kept.push(await startProcess(plan.limits, start, {}))
        await kept.at(-1).read({ waitMs: 20_000 })
      }
      console.log('all up')
      setInterval(() => undefined, 1_000)
    `
    const args = process.versions['bun'] === undefined ? ['--input-type=module', '-e', program] : ['-e', program]
    const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((resolve) => host.stdout.once('data', resolve))
    expect(await eventually(() => running(mark).length > 5)).toBe(true)
    host.kill('SIGKILL')
    await expectGone(mark)
  }
}, 600_000)

test('much output is read by sequence without a loss, and with less than 32 MB of memory', async () => {
  const { root } = makeSandbox()
  const last = runs(12_000_000)
  const sum = execFileSync('sh', ['-c', `seq 1 ${last} | sha256sum`], { encoding: 'utf8' }).slice(0, 64)
  const reader = fileURLToPath(new URL('reading-process.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [reader, root, String(last)])
  const { sha256, bytes, grown } = JSON.parse(stdout) as { sha256: string; bytes: number; grown: number }
  console.info(`${(bytes / 1e6).toFixed(0)} MB read, ${(grown / 1e6).toFixed(1)} MB more memory at most`)
  expect(sha256).toBe(sum)
  expect(grown).toBeLessThan(32e6)
}, 600_000)

/** How often the thread that follows processes has gone to sleep. */
function sleeps(): number {
  const tasks = readdirSync('/proc/self/task').map((task) => readFileSync(`/proc/self/task/${task}/status`, 'utf8'))
  const status = tasks.find((text) => text.includes('toolwright-kept'))
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/mu.exec(status ?? '')?.[1])
}

test('idle processes cost their host little memory and no wake-up', async () => {
  const { root } = makeSandbox()
  await using owner = new ProcessOwner()
  owner.add(await keep(root, ['cat'], { input: 'pipe' }))
  const before = process.memoryUsage().rss
  const count = Math.min(runs(20), 200)
  for (let n = 0; n < count; n += 1) owner.add(await keep(root, ['cat'], { input: 'pipe' }))
  await pause(200)
  const grown = process.memoryUsage().rss - before
  const slept = sleeps()
  await pause(1_000)
  expect(sleeps()).toBe(slept)
  console.info(`${count} idle processes: ${(grown / 1e6).toFixed(1)} MB`)
  expect(grown).toBeLessThan(20e6)
}, 600_000)

test('a terminal answers at once', async () => {
  const { root } = makeSandbox()
  await using owner = new ProcessOwner()
  const process = await keep(root, ['cat'], { input: 'terminal' })
  owner.add(process)
  const times: number[] = []
  for (let n = 0, from = 0; n < runs(200); n += 1) {
    const started = performance.now()
    const written = process.write('x')
    const piece = await process.read({ from, waitMs: 5_000 })
    times.push(performance.now() - started)
    expect(piece.bytes.toString()).toBe('x')
    from = piece.at + piece.bytes.length
    await written
    // A line of a terminal has room for 4,095.
    if (n % 1_000 === 999) {
      await process.write('\r')
      for (let newlines = 0; newlines < 2;) {
        const echoed = await process.read({ from, waitMs: 5_000 })
        newlines += echoed.bytes.toString().split('\n').length - 1
        from = echoed.at + echoed.bytes.length
      }
    }
  }
  times.sort((a, b) => a - b)
  const p95 = times[Math.floor(times.length * 0.95)] ?? Number.NaN
  console.info(`echo: ${times[times.length >> 1]?.toFixed(2)} ms in the middle, ${p95.toFixed(2)} ms at the 95th percentile`)
  // On an idle machine a tenth of that.
  expect(p95).toBeLessThan(50)
}, 600_000)
