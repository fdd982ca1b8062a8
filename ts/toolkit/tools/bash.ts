import { z } from 'zod'
import type { FinishedCommand } from '../../../index.js'
import { traceStep } from '../../core/call-channel.js'
import { programName } from '../../core/call-message.js'
import { CommandPatches } from '../../core/command-patches.js'
import { call as callAddon } from '../../core/native.js'
import { leftRunningNote } from '../../core/text.js'
import type { CheckpointChange } from '../../journal/checkpoints/checkpoints.js'
import { type BuiltInContext, type CallableTool, defineBuiltIn, type StreamingTool } from '../define-tool.js'
import { type BoundToolOptions, documentedOptions } from '../settings.js'
import { grantSchema, withGrant, withGrantMove } from './call-grant.js'
import { type BashInput, type CallSettings, directCall, planCommand } from './call-plan.js'
import { runKept } from './kept-command.js'
import { guideModel, syntaxNote, withSyntaxNote } from './model-errors.js'
import type { ModelText } from '../../documents/model-image.js'
import { type ModelOutputRequest, textWithNotes, type Toolkit } from './model-output.js'
import { noteExit, streamCommand } from './stream-command.js'

export type { BashInput }

const schema = z.object({
  cmd: z.string().describe('Executable name or path; no shell parses it'),
  args: z.array(z.string()).optional().describe('Arguments, passed as they are; for a shell use cmd "sh" and args ["-c", "…"]'),
  opts: z.object({ cwd: z.string().optional().describe('Working directory, within the root directory') }).optional(),
})

const schemaWithGrant = schema.extend({ grant: grantSchema })

/** The `bash` tool: an executable run with arguments. */
export type BashTool = CallableTool<BashInput, string>

/** The `bash` tool of `streamOutput`: yields the output so far while the command runs, or the end of a long output. */
export type StreamingBashTool = StreamingTool<BashInput, string>

const outputSchema = z.string().describe('stdout and stderr in the order of arrival')

const definition = { name: 'bash', outputSchema, sideEffect: true, kind: 'bash' } as const

/** Makes the `bash` tool of a tool set. */
export function createBashTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): BashTool {
  if (toolkit === undefined) {
    return defineBuiltIn({ ...definition, schema, description, execute: (input: BashInput, call) => runCommand(input, call, bound) }, bound)
  }
  const execute = (input: BashInput, call: BuiltInContext): Promise<string> =>
    runCommand(input, call, bound, toolkit)
      .catch(guideModel('bash', call))
      .catch(withGrantMove(input, toolkit.onGrant))
      .catch(withSyntaxNote(input))
  return defineBuiltIn({ ...definition, ...forModel(description, toolkit), execute }, bound)
}

/** The parts of a set's `bash` that only its model sees. */
const forModel = (description: string, toolkit: Toolkit) => ({
  schema: toolkit.onGrant === undefined ? schema : schemaWithGrant,
  description,
  toModelOutput: modelOutput(toolkit),
  onChanged: noteChanges(toolkit),
})

/** Makes the `bash` tool of a tool set with `streamOutput`. */
export function createStreamingBashTool(bound: BoundToolOptions, description: string, toolkit: Toolkit): StreamingBashTool {
  async function* execute(input: BashInput, call: BuiltInContext): AsyncGenerator<string, void, undefined> {
    const patches = new CommandPatches()
    try {
      const setNote = noteOf(input, call, toolkit)
      yield* streamCommand(planCommand(input, await grantedCall(input, call, toolkit), bound), setNote, patches)
    } catch (error) {
      await Promise.reject(error).catch(withGrantMove(input, toolkit.onGrant)).catch(withSyntaxNote(input))
    } finally {
      call.patches = patches.take()
    }
  }
  return defineBuiltIn({ ...definition, ...forModel(description, toolkit), execute }, bound)
}

/** The call with what it is granted besides the options of its set. */
async function grantedCall(input: BashInput, call: CallSettings, toolkit: Toolkit | undefined): Promise<CallSettings> {
  if (input.grant === undefined) return call
  return { settings: await withGrant(input, call, toolkit?.onGrant), signal: call.signal }
}

/** Tells a model what the command has changed. */
function noteChanges({ notes, tracked }: Toolkit) {
  return ({ cmd }: BashInput, { toolCallId }: BuiltInContext, changed: readonly CheckpointChange[]): void =>
    notes.add({ toolCallId, tool: 'bash', subject: cmd }, tracked?.noteOf(changed))
}

/** The text for the model. It names shell syntax that no shell has read, even after a success. */
function modelOutput({ notes }: Toolkit): (request: ModelOutputRequest<BashInput>) => ModelText {
  return ({ toolCallId, input, output }) => {
    const { text } = notes.get({ toolCallId, tool: 'bash', subject: input.cmd })
    const syntax = syntaxNote(input)
    return textWithNotes(output || '(no output)', text, syntax && `(${syntax})`)
  }
}

/**
 * Runs an executable, in the current context.
 *
 * @returns stdout and stderr in the order of arrival, within `maxOutputBytes`.
 * @throws {ToolError} TOOL_COMMAND_FAILED for a non-zero exit and PROCESS_TIMEOUT at the timeout,
 * both with the output in `details.output`; PROCESS_FAILED if the command cannot be started; INVALID_INPUT,
 * TOOL_NETWORK_DISABLED, TOOL_GIT_REMOTE_DISABLED and TOOL_PATH_ESCAPE before it starts.
 */
export async function bashTool(cmd: string, args?: string[], opts?: { cwd?: string }): Promise<string> {
  return runCommand({ cmd, args, opts }, directCall('bash'), documentedOptions)
}

async function runCommand(
  input: BashInput,
  call: Pick<BuiltInContext, 'settings' | 'signal' | 'toolCallId' | 'partialOutput' | 'patches'>,
  bound: BoundToolOptions,
  toolkit?: Toolkit,
): Promise<string> {
  const setNote = noteOf(input, call, toolkit)
  const granted = input.grant === undefined ? call : await grantedCall(input, call, toolkit)
  const { settings, command, limits } = planCommand(input, granted, bound)
  const patches = new CommandPatches()
  const onAborted = (output: string): void => void (call.partialOutput = { output })
  const { processes, goesOn } = toolkit ?? {}
  // A grant is for one call, and a process outlives its call.
  const keeps = processes !== undefined && goesOn === true && process.platform === 'linux' && granted === call
  const callLimits = { ...limits, onAborted }
  const ended = await traceStep(
    'command',
    { program: programName(command.cmd) },
    () =>
      keeps
        ? runKept({ settings, command, limits: callLimits }, call, bound, processes)
        : callAddon(callLimits, (addon, cancel) =>
            addon.bash(settings(addon), command, cancel, patches.of(addon, [command.cmd, ...command.args])),
          ),
    (message, finished, error) => noteExit(message, error, finished),
  ).finally(() => void (call.patches = patches.take()))
  setNote(ended)
  return ended.output
}

/** Clears the note of an earlier call, and returns the function that sets the note of this one. */
function noteOf({ cmd }: BashInput, { toolCallId }: Pick<BuiltInContext, 'toolCallId'>, toolkit: Toolkit | undefined) {
  const noted = { toolCallId, tool: 'bash', subject: cmd } as const
  toolkit?.notes.set(noted, {})
  return ({ leftRunning, notes }: FinishedCommand): void => {
    const left = leftRunningNote(leftRunning, toolkit?.processes !== undefined)
    const all = [left, ...notes, ...(toolkit?.processes?.takeNotes() ?? [])]
    const text = all.filter((note) => note !== undefined).join('\n')
    toolkit?.notes.set(noted, { text: text === '' ? undefined : text })
    toolkit?.notes.addLate(noted, toolkit)
  }
}
