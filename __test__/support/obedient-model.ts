// Loaded before a program of the documentation, it is what the program's model is asked of. It makes the call that
// the prompt is (`{ "tool": …, "input": … }`), or that of OBEDIENT_CALL, and then says what came of it.
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

interface Message {
  role: string
  content: string | { type: string; text?: string; output?: { value?: unknown } }[]
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

const textOf = ({ content }: Message): string => (typeof content === 'string' ? content : content.map(({ text = '' }) => text).join(''))

/** What the model says to a prompt. */
function answer(prompt: Message[]) {
  const last = prompt.at(-1) as Message
  if (last.role === 'tool' && typeof last.content !== 'string') {
    return { text: `done: ${last.content.map(({ output }) => String(output?.value)).join(' ')}` }
  }
  const asked = textOf(last)
  const call = asked.startsWith('{') ? asked : process.env['OBEDIENT_CALL']
  return call === undefined ? { text: 'done' } : { call: JSON.parse(call) as { tool: string; input: unknown } }
}

function parts(prompt: unknown) {
  const { text, call } = answer(prompt as Message[])
  if (call === undefined) return { unified: 'stop' as const, text }
  const toolCallId = `call-${Math.random()}`
  return {
    unified: 'tool-calls' as const,
    call: { type: 'tool-call' as const, toolCallId, toolName: call.tool, input: JSON.stringify(call.input) },
  }
}

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const { unified, text = '', call } = parts(prompt)
    return { content: [call ?? { type: 'text', text }], finishReason: { unified, raw: undefined }, usage, warnings: [] }
  },
  doStream: async ({ prompt }) => {
    const { unified, text = '', call } = parts(prompt)
    const said = [
      { type: 'text-start' as const, id: '1' },
      { type: 'text-delta' as const, id: '1', delta: text },
      { type: 'text-end' as const, id: '1' },
    ]
    const finish = { type: 'finish' as const, usage, finishReason: { unified, raw: undefined } }
    return {
      stream: simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ...(call === undefined ? said : [call]), finish] }),
    }
  },
})
const shared = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown }
shared.AI_SDK_DEFAULT_PROVIDER = { specificationVersion: 'v4', languageModel: () => model }
