import { spawn } from 'node:child_process'

/** Plain text that means the same in every version of Node. */
const TEST = { cmd: 'node', args: ['--test', '--test-reporter=tap'] }

/** @typedef {{ green: boolean, text: string }} Verdict */
/** @typedef {{ succeeded: boolean, output: string }} Ended */
/** @typedef {(directory: string, signal: AbortSignal) => Promise<Ended>} Runner */

/**
 * Runs the project's tests after the agent is done, because its word is not evidence.
 *
 * @param {string} directory
 * @param {AbortSignal} signal
 * @param {Runner} run
 * @returns {Promise<Verdict>}
 */
export async function verify(directory, signal, run) {
  const { succeeded, output } = await run(directory, signal)
  const count = (/** @type {string} */ name) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(output)?.[1] ?? 0)
  const [tests, passed] = [count('tests'), count('pass')]
  if (!succeeded) {
    const reason = tests === 0 ? `\n${output.trim()}` : ''
    return { green: false, text: `the tests are red: ${passed} of ${tests} passed${reason}` }
  }
  // `node --test` is content when it finds nothing to run.
  if (passed === 0) return { green: false, text: 'no test was run, so nothing is shown' }
  return { green: true, text: `the tests are green: ${passed} of ${tests} passed` }
}

/**
 * Without any tool of toolwright: they are what is on show, so they do not judge themselves.
 *
 * @type {Runner}
 */
export function runDirectly(directory, signal) {
  // Set by a test runner around this process, it would turn the tests of the project off.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((resolve, reject) => {
    const child = spawn(TEST.cmd, TEST.args, { cwd: directory, env, signal, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text))
    }
    child.on('error', reject)
    child.on('close', (code) => resolve({ succeeded: code === 0, output }))
  })
}

/**
 * Under the same limits as the agent's own commands: a model has had its hands on this code.
 *
 * @param {import('toolwright').ToolwrightTools['bash']} bash
 * @returns {Runner}
 */
export function runAsTool(bash) {
  return async (_directory, abortSignal) => {
    try {
      return { succeeded: true, output: await bash.execute(TEST, { abortSignal }) }
    } catch (error) {
      const { code, details } = /** @type {import('toolwright').ToolError} */ (error)
      if (code !== 'TOOL_COMMAND_FAILED' && code !== 'PROCESS_TIMEOUT') throw error
      return { succeeded: false, output: String(details['output'] ?? '') }
    }
  }
}
