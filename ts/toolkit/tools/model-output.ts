import type { ToolCallOptions } from '../../journal/calls/run-call.js'
import type { CallNote, CallNotes } from './call-notes.js'
import { imagePart } from './images.js'
import type { ToolkitReadInput } from './read.js'

/** The request of the AI SDK for the form of a result that the model sees. */
export interface ModelOutputRequest<INPUT> {
  toolCallId: NonNullable<ToolCallOptions['toolCallId']>
  input: INPUT
  output: string
}

/** What `createTools` adds to the tools of the documents. */
export interface Toolkit {
  notes: CallNotes
  /** Whether a model is shown the numbers of the lines it reads. */
  lineNumbers: boolean
}

/** A result as the AI SDK takes it. */
export interface ModelText {
  type: 'text'
  value: string
}

/** A result, or what stands for an empty one, followed by the note of the call. */
export function withNote({ text }: CallNote, output: string, empty: string): ModelText {
  const shown = output === '' ? empty : output
  if (text === undefined) return { type: 'text', value: shown }
  return { type: 'text', value: `${shown}${shown.endsWith('\n') ? '' : '\n'}${text}` }
}

/** The form of a `read` that the model sees: a text, with line numbers if the host sets them, or the image itself. */
export function readOutput(toolkit: Toolkit, { toolCallId, input, output }: ModelOutputRequest<ToolkitReadInput>): ModelText {
  const { text, image } = toolkit.notes.get({ toolCallId, tool: 'read', subject: input.path })
  if (image !== undefined) {
    // Cast, because the two versions of the SDK have different types for parts.
    return { type: 'content', value: [{ type: 'text', text: output }, imagePart(image)] } as unknown as ModelText
  }
  if (output === '') return { type: 'text', value: text ?? '(empty file)' }
  const shown = toolkit.lineNumbers ? numbered(output, input.offset ?? 1) : output
  if (text === undefined) return { type: 'text', value: shown }
  return { type: 'text', value: `${shown}${shown.endsWith('\n') ? '' : '\n'}${text}` }
}

/** Each line behind its number and a tab, as `cat -n` has it. */
function numbered(text: string, first: number): string {
  const ends = text.endsWith('\n')
  const lines = (ends ? text.slice(0, -1) : text).split('\n')
  return lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n') + (ends ? '\n' : '')
}
