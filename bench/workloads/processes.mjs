import assert from 'node:assert/strict'
import { createTools } from 'toolwright'
import { createSandboxSession } from 'toolwright/sandbox'
import { startProcess } from '../../dist/core/kept-process.js'
import { planCommand } from '../../dist/toolkit/tools/call-plan.js'
import { resolveSettings } from '../../dist/toolkit/settings.js'

/** As the AI SDK calls a tool. */
const CALL = { toolCallId: 'call', messages: [] }
const STREAM_BYTES = 64 << 20

/** Keeps a program running with the settings of a tool set. */
function keep(rootDir, [cmd, ...args], options) {
  const tools = { rootDir }
  const plan = planCommand({ cmd, args }, { settings: resolveSettings(undefined, tools, 'bash') }, tools)
  return startProcess(plan.limits, (addon, kept, cancel) => addon.startProcess(plan.settings(addon), plan.command, kept, cancel), options)
}

/** Listens at a port for each line that it reads, and says when: the machine's clock is that of its host. */
const LISTENER = `import socket, sys, time
kept = []
for line in sys.stdin:
  s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); kept.append(s)
  print(time.clock_gettime(time.CLOCK_MONOTONIC), s.getsockname()[1], flush=True)
  if len(kept) > 8: kept.pop(0).close()
`
const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6

/** From `listen` to the answer of `ready`, which was asked before. */
async function ready({ folder }) {
  const server = await keep(folder, ['python3', '-c', LISTENER], { input: 'pipe' })
  let from = 0
  let port = 0
  const line = async () => {
    for (let text = ''; ;) {
      const piece = await server.read({ from, waitMs: 10_000 })
      from = piece.at + piece.bytes.length
      text += piece.bytes.toString()
      if (text.endsWith('\n')) return text.trim().split(' ').map(Number)
      assert.equal(server.end, undefined, 'the listener has ended')
    }
  }
  const run = async () => {
    await server.write('listen\n')
    const [listened, at] = await line()
    port = await server.ready({ port: at, waitMs: 10_000 })
    // The clock of Node and of Python is the same one of the kernel.
    return monotonicMs() - listened * 1_000
  }
  return { ours: { run, verify: (ms) => assert.ok(ms > 0 && port > 0, 'it was not ready') } }
}

/** One character to a terminal and back. */
async function echo({ folder }) {
  const terminal = await keep(folder, ['cat'], { input: 'terminal' })
  let from = 0
  const run = async () => {
    const written = terminal.write(from % 1_000 === 999 ? '\r' : 'x')
    const piece = await terminal.read({ from, waitMs: 10_000 })
    from = piece.at + piece.bytes.length
    await written
    return piece.bytes.length
  }
  return { ours: { run, verify: (bytes) => assert.ok(bytes > 0, 'nothing came back') } }
}

/** 64 MB by sequence, into one piece of memory. */
function sequence({ folder }) {
  const memory = new Uint8Array(262_144)
  const run = async () => {
    const options = { holds: true, headBytes: 0, tailBytes: 1 << 20 }
    const source = await keep(folder, ['head', '-c', String(STREAM_BYTES), '/dev/zero'], options)
    for (let from = 0; ;) {
      const { at, length, isEnded } = await source.readInto(memory, { from, waitMs: Infinity })
      assert.equal(at, from, 'bytes are missing')
      from += length
      if (isEnded) return from
    }
  }
  return { ours: { run, verify: (bytes) => assert.equal(bytes, STREAM_BYTES) } }
}

/** A command of the sandbox session of the AI SDK, and the same through `bash`. */
function sessionRun({ folder }) {
  const session = createSandboxSession({ rootDir: folder })
  const { bash } = createTools({ rootDir: folder })
  return {
    ours: {
      run: () => session.run({ command: 'true' }),
      verify: (result) => assert.deepEqual(result, { exitCode: 0, stdout: '', stderr: '' }),
    },
    bash: { run: () => bash.execute({ cmd: '/bin/bash', args: ['-c', 'true'] }, CALL), verify: (answer) => assert.equal(answer, '') },
  }
}

const often = { quick: { rounds: 15, batch: 3, budgetMs: 1_500 }, full: { rounds: 80, batch: 5, budgetMs: 12_000 } }
const selfTimed = {
  quick: { rounds: 15, batch: 1, budgetMs: 1_500, selfTimed: true },
  full: { rounds: 200, batch: 1, budgetMs: 12_000, selfTimed: true },
}
const seldom = { quick: { rounds: 3, batch: 1, budgetMs: 2_000 }, full: { rounds: 10, batch: 1, budgetMs: 12_000 } }

export const workloads = [
  { id: 'process-ready', alone: true, effort: selfTimed, contenders: ready },
  { id: 'process-echo', alone: true, effort: often, contenders: echo },
  { id: 'process-sequence', alone: true, effort: seldom, contenders: sequence },
  { id: 'session-run', alone: true, effort: often, contenders: sessionRun },
]
