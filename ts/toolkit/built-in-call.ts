/** Calls of built-in operations that are no tools of the AI SDK: recorded, with keys, context and aborts. */
import { withoutNulls } from '../core/optional-arguments.js'
import type { ToolCallOptions } from '../journal/calls/call-record.js'
import { runCall } from '../journal/calls/run-call.js'
import type { BuiltInContext, BuiltInTool } from './define-tool.js'
import { seenBy } from './seen-files-of-set.js'
import { resolveSettings, type TrackedToolOptions } from './settings.js'

/** A function that makes one recorded call. */
export type RecordedFunction<INPUT, OUTPUT> = (input: INPUT, options?: ToolCallOptions) => Promise<OUTPUT>

/** The parts of a recorded function: those of a tool, without texts for a model. */
export type Operation<INPUT, OUTPUT> = Pick<
  BuiltInTool<INPUT, Promise<OUTPUT>>,
  'name' | 'sideEffect' | 'kind' | 'execute' | 'recordedInput'
>

export function recordedFunction<INPUT, OUTPUT>(
  { name, sideEffect, kind, execute, recordedInput }: Operation<INPUT, OUTPUT>,
  bound: TrackedToolOptions,
): RecordedFunction<INPUT, OUTPUT> {
  // Unlike the documents' tools, none of these claims to use a key.
  const metadata = { name, sideEffect, idempotent: !sideEffect, acceptsIdempotencyKey: false, hasRevert: false }
  return (args, callOptions) =>
    runCall<INPUT, BuiltInContext>({
      door: 'toolkit',
      execute,
      metadata,
      run: bound,
      args: withoutNulls(args),
      builtIn: true,
      recordedInput,
      completeContext: (base, ambient) => {
        const settings = resolveSettings(ambient, bound, kind)
        return { ...base, settings, rootDir: settings.rootDir, seen: seenBy(kind, ambient, bound) }
      },
      callOptions: callOptions ?? {},
    }) as Promise<OUTPUT>
}
