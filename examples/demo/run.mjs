// `npm run demo`: an agent of the AI SDK repairs a small project with the tools of toolwright.
import { isStepCount, ToolLoopAgent } from 'ai'
import { createTools, sandboxReport } from 'toolwright'
import { createCallLog } from './call-log.mjs'
import { openDemoJournal } from './journal.mjs'
import { harmless, paint, paintDiff, say } from './display.mjs'
import { describeFailure } from './failure.mjs'
import { chooseModel } from './model.mjs'
import { HELP, readOptions, UsageError } from './options.mjs'
import { runAsTool, runDirectly, verify } from './verify.mjs'
import { openWorkspace } from './workspace.mjs'

const INSTRUCTIONS = `You are a careful programmer. You work on the project in the root directory, with the tools
you are given; paths are relative to that directory. \`bash\` runs one executable with arguments, not a shell line.
\`edit\` takes a unified diff against the current content of one file, so read the file first. Change no more than the
task needs. When you are done, say in two or three sentences what was wrong and what you changed.`

const TASK = `The tests of this project fail (\`node --test\`). Find the cause, repair it in the source without
changing any test, and run the tests again to see that they pass.`

const TEST_FILE = /(?:^|\/)(?:tests?|__tests?__)\/|\.test\.\w+$/

/** How long a command that was aborted may take to be gone. */
const SETTLE_MS = 5_000

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** The run was ended from outside; `exitCode` says how. */
class Stopped extends Error {
  /**
   * @param {string} message
   * @param {number} exitCode
   */
  constructor(message, exitCode) {
    super(message)
    this.exitCode = exitCode
  }
}

/** @param {string[]} args */
async function main(args) {
  const options = readOptions(args)
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  const chosen = chooseModel(options)
  const stop = stopOnSignals(options.timeoutMs)
  const workspace = openWorkspace(options)
  const log = createCallLog()
  /** @type {Awaited<ReturnType<typeof openDemoJournal>> | undefined} */
  let records
  try {
    records = await openDemoJournal(options.journal)
    return await repair(options, chosen, workspace, { log, journal: records.journal }, stop.signal)
  } catch (error) {
    // The SDK words an abort in its own way; the reason for it is ours.
    throw stop.signal.aborted ? stop.signal.reason : error
  } finally {
    await log.settled(SETTLE_MS)
    stop.release()
    const line = await records?.close()
    if (line !== undefined) say(`\n${line}`)
    if (!options.keep) workspace.remove()
    else if (!options.inPlace) say(`\nkept      ${workspace.directory}`)
  }
}

/**
 * @param {import('./options.mjs').Options} options
 * @param {import('./model.mjs').ChosenModel} chosen
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {{ log: ReturnType<typeof createCallLog>, journal: import('toolwright').Journal }} records
 * @param {AbortSignal} signal
 */
async function repair(options, chosen, workspace, { log, journal }, signal) {
  const { allowNetwork, maxSteps } = options
  const prompt = options.task ?? TASK
  const tools = createTools({ rootDir: workspace.directory, allowNetwork, journal })
  const { summary } = await sandboxReport({ rootDir: workspace.directory, allowNetwork })
  sayHeader(chosen, workspace, allowNetwork, summary, prompt)

  const agent = new ToolLoopAgent({
    model: chosen.model,
    instructions: INSTRUCTIONS,
    tools,
    stopWhen: isStepCount(maxSteps),
    onToolExecutionStart: log.onToolExecutionStart,
    onToolExecutionEnd: log.onToolExecutionEnd,
    onStepEnd: log.onStepEnd,
  })
  const { text, finishReason } = await agent.generate({ prompt, abortSignal: signal })
  signal.throwIfAborted()

  sayTitle('answer')
  say(harmless(text).trim() || '(none)')
  if (finishReason === 'tool-calls') say(`The agent was stopped after ${maxSteps} steps (--max-steps).`)

  const { text: diff, files } = workspace.changes()
  sayTitle('diff')
  say(diff === '' ? '(nothing was changed)' : paintDiff(diff))

  sayTitle('verdict')
  const verdict = await verify(workspace.directory, signal, chosen.scripted ? runDirectly : runAsTool(tools.bash))
  // Of two ways to green tests, the default task allows one.
  const bent = options.task === undefined ? files.filter((file) => TEST_FILE.test(file)) : []
  const passed = verdict.green && bent.length === 0
  const objection = bent.length === 0 ? '' : `, but the agent changed the tests: ${bent.join(', ')}`
  const word = passed ? paint('green', 'PASSED') : paint('red', 'FAILED')
  say(`${word}  ${harmless(verdict.text)}${harmless(objection)}  (${log.count} tool calls)`)
  return passed ? 0 : 1
}

/**
 * @param {import('./model.mjs').ChosenModel} chosen
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {boolean} allowNetwork
 * @param {string} sandbox
 * @param {string} prompt
 */
function sayHeader({ title }, workspace, allowNetwork, sandbox, prompt) {
  say(paint('bold', 'toolwright demo: an agent repairs a project'))
  say(`project   ${harmless(workspace.title)}`)
  say(`model     ${harmless(title)}`)
  say(`tools     read, write, edit, grep, bash (allowNetwork: ${allowNetwork})`)
  say(sandbox.replace(/^sandbox: /, 'sandbox   '))
  say(`task      ${harmless(prompt).replaceAll(/\s+/g, ' ').trim()}`)
  sayTitle('tool calls')
}

/** @param {string} title */
const sayTitle = (title) => say(`\n${paint('bold', `-- ${title} --`)}`)

/**
 * A signal that aborts on ^C and its like, and when the time is up.
 *
 * Later signals change nothing: under npm, one ^C can arrive twice, and what is being stopped
 * should not be left behind half-way.
 *
 * @param {number} timeoutMs
 */
function stopOnSignals(timeoutMs) {
  const controller = new AbortController()
  const names = /** @type {(keyof typeof SIGNALS)[]} */ (Object.keys(SIGNALS))
  const onSignal = (/** @type {keyof typeof SIGNALS} */ name) => {
    controller.abort(new Stopped('Interrupted.', SIGNALS[name]))
    // In case something does not listen to the abort.
    setTimeout(() => process.exit(SIGNALS[name]), 2 * SETTLE_MS).unref()
  }
  for (const name of names) process.on(name, onSignal)
  const timer = setTimeout(() => {
    controller.abort(new Stopped(`The run was given up after ${timeoutMs} ms (--timeout-ms).`, 1))
  }, timeoutMs)
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer)
      for (const name of names) process.off(name, onSignal)
    },
  }
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Stopped) {
    process.stderr.write(`\n${error.message}\n`)
    return error.exitCode
  }
  const usage = error instanceof UsageError
  process.stderr.write(`demo: ${harmless(describeFailure(error))}${usage ? ' (see --help)' : ''}\n`)
  return usage ? 2 : 1
}

// A reader that has seen enough, such as `head`, is no reason for a stack trace.
process.stdout.on('error', () => process.exit(1))

process.exitCode = await main(process.argv.slice(2)).catch(explain)
// Whatever still holds the process, its result is known.
setTimeout(() => process.exit(), 1_000).unref()
