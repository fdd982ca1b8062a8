import { duration, paint, say, shortArguments, shortError, shortOutput } from './display.mjs'

/**
 * Shows tool calls as they happen: a line when one starts, a line when it has ended. Calls of one
 * answer run side by side, so both lines carry the number of the call.
 */
export function createCallLog() {
  /** @type {Map<string, number>} */
  const running = new Map()
  /** @type {Set<() => void>} */
  const waiting = new Set()
  let count = 0

  const start = (/** @type {string} */ toolName, /** @type {unknown} */ input) => {
    count += 1
    say(`${label(count)} ${paint('bold', toolName.padEnd(5))} ${shortArguments(toolName, input)}`)
    return count
  }

  return {
    /** @type {import('ai').OnToolExecutionStartCallback<any>} */
    onToolExecutionStart: ({ toolCall }) => {
      running.set(toolCall.toolCallId, start(toolCall.toolName, toolCall.input))
    },

    /** @type {import('ai').OnToolExecutionEndCallback<any>} */
    onToolExecutionEnd: ({ toolCall, toolOutput, toolExecutionMs }) => {
      const number = running.get(toolCall.toolCallId) ?? count
      const outcome =
        toolOutput.type === 'tool-error' ? paint('red', `error ${shortError(toolOutput.error)}`) : `ok    ${shortOutput(toolOutput.output)}`
      say(`${label(number)} ${outcome}  ${paint('dim', duration(toolExecutionMs))}`)
      running.delete(toolCall.toolCallId)
      if (running.size === 0) for (const resolve of waiting) resolve()
    },

    /**
     * A call that does not fit the tool's schema is answered by the SDK and never runs.
     *
     * @param {{ toolCalls: readonly any[] }} step
     */
    onStepEnd: ({ toolCalls }) => {
      for (const { invalid, toolName, input, error } of toolCalls) {
        if (!invalid) continue
        const number = start(toolName, input)
        say(`${label(number)} ${paint('red', `error ${shortError(error)}`)}  ${paint('dim', 'not run')}`)
      }
    },

    /**
     * After an abort the agent returns at once, while a command may still be on its way out.
     *
     * @param {number} limitMs
     * @returns {Promise<void>}
     */
    settled(limitMs) {
      if (running.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, limitMs)
        waiting.add(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    },

    get count() {
      return count
    },
  }
}

/** @param {number} number */
const label = (number) => paint('dim', `#${number}`.padStart(4))
