import { stripVTControlCharacters } from 'node:util'
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import type { ContractTool } from '../contract/registry/contract-tool.js'
import type { Envelope } from '../contract/registry/envelope.js'
import { forModel } from '../contract/registry/model-tools.js'
import { readableText } from '../contract/registry/readable-result.js'
import { apartFromImage } from '../contract/registry/result-image.js'

/** The `_meta` field of a result with the code of the outcome: `ok`, or one of `contractCodes`. */
const CODE = 'toolwright/code'
/** The interval of progress notifications, in milliseconds. */
const PROGRESS_MS = 1_000

/**
 * Turns an envelope into a result for a client: the data as a text with lines and as an object, or the text of the refusal. Where the whole of a
 * cut output is comes first, because a client may cut the end.
 */
export function resultOf({ id }: ContractTool, args: unknown, envelope: Envelope): CallToolResult {
  const { metadata } = envelope
  const meta = { [CODE]: metadata.code, 'toolwright/duration_ms': metadata.duration_ms }
  if (envelope.type === 'error') return { isError: true, content: [text(envelope.error_text)], _meta: meta }
  const { rest, image } = apartFromImage(id, envelope)
  const { data } = rest as typeof envelope
  const isCut = metadata.truncated === true
  const { notes = [] } = forModel(id, args, rest).metadata as { notes?: string[] }
  const noted = notes.length === 0 ? [] : [text(notes.join('\n'))]
  const read = text(readableText(id, data))
  const shown = image === undefined ? [] : [{ type: 'image' as const, data: image.data, mimeType: image.media_type }]
  return { content: isCut ? [...noted, read] : [read, ...noted, ...shown], ...structured(data, notes), _meta: meta }
}

/** The data as an object. Claude Code and Codex show a model this one, and no text: notes are in it too, and first. */
function structured(data: unknown, notes: readonly string[]): Pick<CallToolResult, 'structuredContent'> {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return {}
  const fields = data as Record<string, unknown>
  if (notes.length === 0) return { structuredContent: fields }
  const { notes: own, ...rest } = fields
  const others = Array.isArray(own) ? (own as string[]).filter((note) => !notes.includes(note)) : []
  return { structuredContent: { notes: [...notes, ...others], ...rest } }
}

/** The result of a call that could not be made. */
export function refusal(code: string, message: string): CallToolResult {
  return { isError: true, content: [text(message)], _meta: { [CODE]: code } }
}

const text = (value: string) => ({ type: 'text' as const, text: value })

/** The most characters of the last output line in a progress notification. */
const MAX_LINE = 200

/**
 * Sends progress to a client that asked for it: how long a call has been running, and the last line of its command's output.
 * Progress also keeps the client's time limit from ending the call.
 */
export class Progress implements Disposable {
  readonly #timer: NodeJS.Timeout | undefined
  #line = ''

  constructor(tool: string, { mcpReq }: ServerContext) {
    const { _meta: { progressToken } = {} } = mcpReq
    if (progressToken === undefined) return
    const start = performance.now()
    this.#timer = setInterval(() => {
      const seconds = Math.round((performance.now() - start) / 1_000)
      const message = [`${tool}: ${seconds} s`, this.#line].filter((part) => part !== '').join(': ')
      // Ignores a client that has gone.
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: seconds, message } }).catch(() => undefined)
    }, PROGRESS_MS)
    this.#timer.unref()
  }

  /** Takes the output of a command; absent if the client asked for no progress. */
  get onOutput(): ((output: string) => void) | undefined {
    if (this.#timer === undefined) return undefined
    return (output) => {
      const line = output.split(/[\r\n]+/u).findLast((part) => part.trim() !== '')
      if (line !== undefined) this.#line = stripVTControlCharacters(line).trim().slice(0, MAX_LINE)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
