import { randomUUID } from 'node:crypto'
import { simulateReadableStream } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'

/**
 * A model that needs neither key nor network. It writes one note, or five if the message says so, and then reports the result.
 * Like a real model, it keeps no state between requests.
 */
export function createScriptedModel() {
  return new MockLanguageModelV4({
    provider: 'toolwright-example',
    modelId: 'scripted',
    doStream: async ({ prompt }) => ({ stream: simulateReadableStream({ chunks: answerTo(prompt) }) }),
  })
}

/** @param {import('@ai-sdk/provider').LanguageModelV4Prompt} prompt */
function answerTo(prompt) {
  const begin = prompt.findLastIndex(({ role }) => role === 'user')
  const results = prompt.slice(begin).flatMap(({ role, content }) => (role === 'tool' ? content : []))
  const asked = JSON.stringify(prompt[begin]?.content ?? '')
  const parts = results.length === 0 ? calls(asked.includes('five') ? 5 : 1) : says(results)
  const finish = /** @type {const} */ ({ unified: results.length === 0 ? 'tool-calls' : 'stop', raw: undefined })
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  return [
    { type: /** @type {const} */ ('stream-start'), warnings: [] },
    ...parts,
    { type: /** @type {const} */ ('finish'), finishReason: finish, usage },
  ]
}

/** @param {number} count */
function calls(count) {
  return Array.from({ length: count }, (_, index) => ({
    type: /** @type {const} */ ('tool-call'),
    toolCallId: `call-${randomUUID()}`,
    toolName: 'write',
    input: JSON.stringify({ path: `note-${index + 1}.txt`, content: `This is note ${index + 1}.\n` }),
  }))
}

/** @param {unknown[]} results */
function says(results) {
  const made = results.filter((result) => JSON.stringify(result).includes(String.raw`\"type\":\"output\"`)).length
  const delta = `${made} of ${results.length} notes are written.`
  return [
    { type: /** @type {const} */ ('text-start'), id: '1' },
    { type: /** @type {const} */ ('text-delta'), id: '1', delta },
    { type: /** @type {const} */ ('text-end'), id: '1' },
  ]
}
