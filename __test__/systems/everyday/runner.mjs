// Runs one command of a project, outside or in the sandbox of `createTools`, as the user that this process has.
import { spawnSync } from 'node:child_process'
import { createTools } from 'toolwright'

const { rootDir, script, isInside, timeoutMs } = JSON.parse(process.argv[2])
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

async function inside() {
  const { bash } = createTools({ rootDir, toolTimeoutMs: timeoutMs })
  try {
    return { code: 0, output: await bash.execute({ cmd: 'bash', args: ['-c', script] }, { toolCallId: 'everyday', messages: [] }) }
  } catch (error) {
    return { code: error.details?.exitCode ?? null, output: error.message }
  }
}

const { code, output } = isInside ? await inside() : outside()
console.log(JSON.stringify({ code, output: output.slice(-4000), ms: performance.now() - started }))
process.exit()
