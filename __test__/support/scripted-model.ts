/** One call a scripted model makes. */
export interface ScriptedCall {
  tool: string
  input: unknown
  id?: string
}

/** What a scripted model answers in one turn: text, or calls of tools. */
export type Turn = string | ScriptedCall[]

/** Turns in the form that the mock models of AI SDK 6 and 7 both take. */
export function script(...turns: Turn[]) {
  return turns.map((turn, index) => answer(turn, index))
}

function answer(turn: Turn, index: number) {
  const content =
    typeof turn === 'string'
      ? [{ type: 'text' as const, text: turn }]
      : turn.map((call, position) => ({
          type: 'tool-call' as const,
          toolCallId: call.id ?? `call-${index}-${position}`,
          toolName: call.tool,
          input: JSON.stringify(call.input),
        }))
  return {
    content,
    finishReason: {
      unified: typeof turn === 'string' ? ('stop' as const) : ('tool-calls' as const),
      raw: undefined,
    },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  }
}

interface SeenResult {
  toolCallId: string
  toolName: string
  output: { type: string; value?: unknown }
}

/** The results of tools in the last prompt that a mock model was given: what the model sees. */
export function seenBy(model: { doGenerateCalls: { prompt: unknown }[] }): SeenResult[] {
  const prompt = model.doGenerateCalls.at(-1)?.prompt as { role: string; content: unknown }[]
  return prompt
    .filter((message) => message.role === 'tool')
    .flatMap((message) => message.content as SeenResult[])
    .map(({ toolCallId, toolName, output }) => ({ toolCallId, toolName, output }))
}
