/** What callers give to `toModelOutput` of a tool. */
export interface OutputRequest<OUTPUT> {
  /** Empty, if the caller does not say. */
  toolCallId: string
  /** The arguments; an empty object, if the caller does not say. */
  input: unknown
  output: OUTPUT
}

/**
 * The AI SDK gives `{ toolCallId, input, output }`, and frameworks with tools of its form, such as Mastra, the bare output. No output of our
 * tools has the names of both.
 */
export function outputRequest<OUTPUT>(given: unknown): OutputRequest<OUTPUT> {
  const isRequest = typeof given === 'object' && given !== null && 'output' in given && ('toolCallId' in given || 'input' in given)
  if (!isRequest) return { toolCallId: '', input: {}, output: given as OUTPUT }
  const { toolCallId, input, output } = given as Partial<OutputRequest<OUTPUT>>
  return { toolCallId: toolCallId ?? '', input: input ?? {}, output: output as OUTPUT }
}
