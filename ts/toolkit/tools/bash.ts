import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { settledWithin } from '../../core/abort.js'
import { leftRunningNote, syntaxNote, withSyntaxNote } from '../../core/command-notes.js'
import { call as callAddon, stream } from '../../core/native.js'
import { type BuiltInContext, type BuiltInTool, type CallableTool, defineBuiltIn, type StreamingTool } from '../define-tool.js'
import { documentedOptions } from '../settings.js'
import { type BoundToolOptions } from '../tool-options.js'
import { directCall } from './call-plan.js'
import { type BashInput, planCommand } from './command-plan.js'
import { LiveOutput } from './live-output.js'
import { forModel } from './model-errors.js'
import { type Toolkit, withNote } from './model-output.js'

export type { BashInput }

const schema = z.object({
  cmd: z.string().describe('Executable name or path; no shell parses it'),
  args: z.array(z.string()).optional().describe('Arguments, passed as they are; for a shell use cmd "sh" and args ["-c", "…"]'),
  opts: z.object({ cwd: z.string().optional().describe('Working directory, within the root directory') }).optional(),
})

/** The `bash` tool: an executable run with arguments. */
export type BashTool = CallableTool<BashInput, string>

/** The `bash` tool of `streamOutput`: yields the output so far while the command runs, of a long one its end. */
export type StreamingBashTool = StreamingTool<BashInput, string>

const definition = { name: 'bash', schema, sideEffect: true, idempotent: false, kind: 'bash' } as const

/** Makes the `bash` tool of a tool set. */
export function createBashTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): BashTool {
  const execute = async (input: BashInput, call: BuiltInContext): Promise<string> => {
    if (toolkit === undefined) return runCommand(input, call, bound)
    try {
      return await forModel('bash', call, () => runCommand(input, call, bound, toolkit))
    } catch (error) {
      throw withSyntaxNote(error, input)
    }
  }
  return defineBuiltIn({ ...definition, description, execute, toModelOutput: modelOutput(toolkit) }, bound)
}

/** Makes the `bash` tool of a tool set with `streamOutput`. */
export function createStreamingBashTool(bound: BoundToolOptions, description: string, toolkit: Toolkit): StreamingBashTool {
  async function* execute(input: BashInput, call: BuiltInContext): AsyncGenerator<string, void, undefined> {
    try {
      yield* streamCommand(input, call, bound, toolkit)
    } catch (error) {
      throw withSyntaxNote(error, input)
    }
  }
  return defineBuiltIn({ ...definition, description, execute, toModelOutput: modelOutput(toolkit) }, bound)
}

/** What a model is shown of the output: shell syntax that no shell has read is named, also after a success. */
function modelOutput(toolkit: Toolkit | undefined): BuiltInTool<BashInput, unknown>['toModelOutput'] {
  if (toolkit === undefined) return undefined
  return ({ toolCallId, input, output }) => {
    const note = toolkit.notes.get({ toolCallId, tool: 'bash', subject: input.cmd })
    const { value } = withNote(note, output, '(no output)')
    const syntax = syntaxNote(input)
    return { type: 'text', value: syntax === undefined ? value : `${value}${value.endsWith('\n') ? '' : '\n'}(${syntax})` }
  }
}

/**
 * Runs an executable, in the current context.
 *
 * @returns stdout and stderr in the order of arrival, within `maxOutputBytes`.
 * @throws {ToolError} TOOL_COMMAND_FAILED for a non-zero exit and PROCESS_TIMEOUT at the timeout,
 * both with what was printed in `details.output`; PROCESS_FAILED when it cannot be started;
 * INVALID_INPUT, TOOL_NETWORK_DISABLED, TOOL_GIT_REMOTE_DISABLED and TOOL_PATH_ESCAPE before it is.
 */
export async function bashTool(cmd: string, args?: string[], opts?: { cwd?: string }): Promise<string> {
  return runCommand({ cmd, args, opts }, directCall('bash'), documentedOptions)
}

async function runCommand(
  input: BashInput,
  call: Pick<BuiltInContext, 'settings' | 'signal' | 'toolCallId' | 'partialOutput'>,
  bound: BoundToolOptions,
  toolkit?: Toolkit,
): Promise<string> {
  const noted = { toolCallId: call.toolCallId, tool: 'bash', subject: input.cmd } as const
  toolkit?.notes.clear(noted)
  const { settings, command, limits } = planCommand(input, call, bound)
  const onAborted = (output: string): void => void (call.partialOutput = { output })
  const { output, leftRunning = 0 } = await callAddon({ ...limits, onAborted }, (addon, cancel) =>
    addon.bash(settings(addon), command, cancel),
  )
  toolkit?.notes.set(noted, { text: leftRunningNote(leftRunning) })
  return output ?? ''
}

/** A pause between two parts of the output, in which it gathers. */
const PAUSE_MS = 10

/** Yields the output so far, of a long one its end, and last the whole output as {@link runCommand} gives it. */
async function* streamCommand(
  input: BashInput,
  call: BuiltInContext,
  bound: BoundToolOptions,
  toolkit: Toolkit,
): AsyncGenerator<string, void, undefined> {
  const noted = { toolCallId: call.toolCallId, tool: 'bash', subject: input.cmd } as const
  toolkit.notes.clear(noted)
  const { settings, command, limits } = planCommand(input, call, bound)
  const events = stream(limits, (addon, cancel) => addon.bashStream(settings(addon), command, cancel))
  const live = new LiveOutput()
  let shown = ''
  try {
    let next = nextOf(events)
    for (;;) {
      const dueInMs = live.dueIn(performance.now())
      if (dueInMs !== undefined && !(await settledWithin(next, dueInMs))) {
        yield (shown = live.take(performance.now()))
        continue
      }
      const event = await next
      if (event.done === true) {
        const { output: whole = '', leftRunning = 0 } = event.value
        toolkit.notes.set(noted, { text: leftRunningNote(leftRunning) })
        if (whole !== shown || whole === '') yield whole
        return
      }
      live.add(event.value.text)
      if (live.dueIn(performance.now()) === 0) yield (shown = live.take(performance.now()))
      await setTimeout(PAUSE_MS)
      next = nextOf(events)
    }
  } finally {
    await events.return({})
  }
}

/** The next event. It may fail while nothing waits for it, because the reader looks at what was shown before. */
function nextOf<T, R>(events: AsyncGenerator<T, R, undefined>): Promise<IteratorResult<T, R>> {
  const next = events.next()
  next.catch(() => undefined)
  return next
}
