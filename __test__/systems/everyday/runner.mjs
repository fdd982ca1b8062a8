// Runs one command of a project as the user that this process has: outside, in the sandbox of `createTools`, or in a fork.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createTools, openFork } from 'toolwright'

const { rootDir, script, where, timeoutMs, after, differs, store, fork: forkId } = JSON.parse(process.argv[2])
const started = performance.now()

function outside() {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: rootDir,
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 1 << 28,
  })
  return { code: status, output: stdout + stderr }
}

async function run(bash, args) {
  try {
    return { code: 0, output: await bash.execute(args, { toolCallId: 'everyday', messages: [] }) }
  } catch (error) {
    return { code: error.details?.exitCode ?? null, output: error.message }
  }
}

const shell = (line) => ({ cmd: 'bash', args: ['-c', line] })

const inside = () => run(createTools({ rootDir, toolTimeoutMs: timeoutMs }).bash, shell(script))

/** Leaves the fork on the disk, for `apply`. */
async function inFork() {
  const fork = await openFork({ rootDir, store })
  const { bash } = createTools({ rootDir: fork, toolTimeoutMs: timeoutMs, maxOutputBytes: 10_000_000 })
  const ended = await run(bash, shell(script))
  const ms = performance.now() - started
  const answers = await run(bash, shell(`exec 2>&1; ${after}`))
  const list = readFileSync(new URL('list-files.ts', import.meta.url), 'utf8')
  const program = `${list}\nprocess.stdout.write(JSON.stringify(listFiles('.', ${JSON.stringify(differs)})))`
  const listed = await run(bash, { cmd: process.execPath, args: ['--input-type=module-typescript', '-e', program] })
  if (listed.code !== 0) throw new Error(`the fork cannot be listed: ${listed.output}`)
  await fork.close()
  return { ...ended, ms, fork: fork.id, files: JSON.parse(listed.output), after: answers.output }
}

async function apply() {
  const fork = await openFork({ id: forkId, store })
  const { conflicts } = await fork.apply()
  await fork.discard()
  return { code: conflicts.length === 0 ? 0 : 1, output: JSON.stringify(conflicts) }
}

const { code, output, ...more } = await { outside, inside, fork: inFork, apply }[where]()
const text = JSON.stringify({ code, output: output.slice(-4000), ms: performance.now() - started, ...more })
// A pipe takes a part of it at a time.
process.stdout.write(`${text}\n`, () => process.exit())
