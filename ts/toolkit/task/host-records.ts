import type { ToolCallRecord } from '../context.js'
import type { CallRecorder, OpenRecord, StartingCall } from '../record-call.js'
import { recordedChange } from '../tools/recorded-text.js'
import { registerRecorder } from './find-recorder.js'

/**
 * The `recordToolCall` of a context whose calls a journal records. Tools of this package go to the
 * recorder directly; those of another copy of it, and of the Smithers package, come here.
 */
export function recordToolCallIn(recorder: CallRecorder): (record: ToolCallRecord) => Promise<void> {
  const open: { record: ToolCallRecord; started: OpenRecord }[] = []
  const record = async (told: ToolCallRecord): Promise<void> => {
    if (told.phase === 'started') {
      open.push({ record: told, started: await recorder.start(await asStarting(told)) })
      return
    }
    // By the very arguments where they are the same: numbers can repeat in copies of a context.
    const same = open.findIndex(({ record: one }) => one.input === told.input && one.seq === told.seq)
    const index = same === -1 ? open.findIndex(({ record: one }) => one.seq === told.seq) : same
    const [found] = index === -1 ? [] : open.splice(index, 1)
    if (found === undefined) return
    if (told.phase === 'finished') await found.started.succeeded(told.output)
    else await found.started.failed(told.error, { acted: true, output: told.output })
  }
  registerRecorder(record, recorder)
  return record
}

async function asStarting(record: ToolCallRecord): Promise<StartingCall> {
  const { toolName: name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert } = record
  return {
    metadata: { name, sideEffect, idempotent, acceptsIdempotencyKey, hasRevert },
    input: await withoutContents(name, record.input),
    builtIn: false,
    ctx: { idempotencyKey: record.idempotencyKey, toolCallId: record.toolCallId, signal: undefined, seq: 0 },
    ambient: undefined,
  }
}

/** Other packages' tools of these names hand over the contents as they are. */
async function withoutContents(name: string, input: unknown): Promise<unknown> {
  if (typeof input !== 'object' || input === null) return input
  const { content, patch, ...rest } = input as { path?: unknown; content?: unknown; patch?: unknown }
  if (name === 'write' && content !== undefined) return { ...rest, ...(await recordedChange(rest.path, 'content', content)) }
  if (name === 'edit' && patch !== undefined) return { ...rest, ...(await recordedChange(rest.path, 'patch', patch)) }
  return input
}
