import { MockLanguageModelV4 } from 'ai/test'
import { createPatch } from 'diff'

/** The tools gave the scripted model something else than the script can go on from. */
export class ScriptError extends Error {}

/** @typedef {{ toolName: string, text: string, failed: boolean }} Result what a tool gave back */
/** @typedef {{ calls: { toolName: string, input: object }[] } | { text: string }} Answer */

/**
 * The moves are fixed, their content is not: which function to look for comes from the failing
 * tests, which files to read from the search, and the patch from the text that was read. A result
 * that does not fit ends the run, so a green end means that every tool did its work.
 *
 * @returns {((first: Result, results: Result[]) => Answer)[]}
 */
function moves() {
  /** @type {string[]} */
  let files = []
  return [
    () => ({ calls: [call('bash', { cmd: 'node', args: ['--test'] })] }),

    (tests) => {
      check(tests.failed && tests.text.includes('TOOL_COMMAND_FAILED'), 'failing tests', tests)
      // The reporter of Node 22 prints "not ok 2 - name", that of later versions "✖ name (1.2ms)".
      const names = distinct(tests.text, /^(?:not ok \d+ - |✖ (?!failing tests))(\w+) \w/gm)
      check(names.length > 0, 'the names of the failing tests', tests)
      return { calls: [call('grep', { pattern: `function (${names.join('|')})\\b`, path: 'src' })] }
    },

    (search) => {
      files = distinct(search.text, /^(src\/[\w.-]+\.js):\d+:/gm)
      check(!search.failed && files.length > 0, 'files below src/', search)
      return { calls: files.map((path) => call('read', { path })) }
    },

    (first, results) => {
      const wrong = /^( *)const net = lineNet\(line\)\n *group\.net \+= net\n *group\.tax \+= percentOf\(net, line\.taxRate\)\n/m
      // Results come in the order of the calls.
      const found = results.findIndex(({ failed, text }) => !failed && wrong.test(text))
      check(found !== -1, 'a file that rounds the tax of every line', first)
      const { text } = results[found] ?? first
      const path = files[found] ?? ''
      const right = text.replace(wrong, '$1group.net += lineNet(line)\n$1group.tax = percentOf(group.net, line.taxRate)\n')
      return { calls: [call('edit', { path, patch: createPatch(path, text, right) })] }
    },

    (edit) => {
      check(!edit.failed && /^ok\b/u.test(edit.text), 'ok', edit)
      return { calls: [call('bash', { cmd: 'node', args: ['--test'] })] }
    },

    (tests) => {
      check(!tests.failed && /(?:ℹ|#) fail 0$/m.test(tests.text), 'green tests', tests)
      return {
        text:
          'Every line had its tax rounded on its own, so an invoice with many small lines was off by a cent. ' +
          'The tax of a rate is now the rounded tax on the sum of its lines, as rule 3 of the README says. ' +
          'All tests pass.',
      }
    },
  ]
}

/** A model that needs neither key nor network. */
export function createScriptedModel() {
  const script = moves()
  let step = 0
  return new MockLanguageModelV4({
    provider: 'toolwright-demo',
    modelId: 'scripted',
    doGenerate: async ({ prompt }) => {
      const move = script[step]
      if (move === undefined) throw new ScriptError('The script has ended, and the agent asks for more.')
      const results = lastResults(prompt)
      const answer = move(results[0] ?? { toolName: 'the tools', text: '', failed: true }, results)
      step += 1
      return toResponse(answer, step)
    },
  })
}

/**
 * @param {string} toolName
 * @param {object} input
 */
const call = (toolName, input) => ({ toolName, input })

/**
 * @param {boolean} holds
 * @param {string} expected
 * @param {Result} result
 */
function check(holds, expected, { toolName, failed, text }) {
  if (holds) return
  throw new ScriptError(`The script needs ${expected} from ${toolName} and got ${failed ? 'an error' : 'a result'}:\n${text}`)
}

/**
 * What the pattern's group matches, each once, in the order of appearance.
 *
 * @param {string} text
 * @param {RegExp} pattern
 */
const distinct = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(([, found]) => found ?? ''))]

/**
 * What the tools gave back to the calls of the previous answer.
 *
 * @param {import('@ai-sdk/provider').LanguageModelV4Prompt} prompt
 * @returns {Result[]}
 */
function lastResults(prompt) {
  const last = prompt.at(-1)
  if (last?.role !== 'tool') return []
  return last.content.flatMap((part) => {
    if (part.type !== 'tool-result') return []
    const { output, toolName } = part
    const text = 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output)
    return [{ toolName, text, failed: output.type.startsWith('error') }]
  })
}

/**
 * @param {Answer} answer
 * @param {number} step
 * @returns {import('@ai-sdk/provider').LanguageModelV4GenerateResult}
 */
function toResponse(answer, step) {
  const reason = 'text' in answer ? 'stop' : 'tool-calls'
  return {
    content:
      'text' in answer
        ? [{ type: 'text', text: answer.text }]
        : answer.calls.map(({ toolName, input }, index) => ({
            type: 'tool-call',
            toolCallId: `scripted-${step}-${index + 1}`,
            toolName,
            input: JSON.stringify(input),
          })),
    finishReason: { unified: reason, raw: reason },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
    warnings: [],
  }
}
