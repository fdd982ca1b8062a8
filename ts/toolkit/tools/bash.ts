import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { z } from 'zod'
import type { Command } from '../../../index.js'
import type { DefinedToolContext } from '../call-context.js'
import type { ToolContext } from '../context.js'
import { type BuiltInViews, type CallableTool, defineBoundTool, type StreamingTool } from '../define-tool.js'
import { grantedRoot } from '../../core/granted-root.js'
import { leftRunningNote } from '../../core/left-running.js'
import { call, stream, tryNowait } from '../../core/native.js'
import { partialOutputs } from '../run-call.js'
import { invalid } from '../../core/options.js'
import { type BoundToolOptions, checkBashLimits, documentedOptions, type ToolOptions } from '../settings.js'
import { BASH_TOOL_MAX_ARG_LENGTH, BASH_TOOL_MAX_ARGS, BASH_TOOL_MAX_COMMAND_LENGTH, BASH_TOOL_MAX_CWD_LENGTH } from './bash-limits.js'
import { type CallPlan, callPlan } from './call-plan.js'
import { commandSettings } from './command-settings.js'
import { LiveOutput } from './live-output.js'
import { forModel } from './model-errors.js'
import { type Toolkit, withNote } from './model-output.js'
import { guardNetwork, noVariables } from '../../core/network-guard/guard-network.js'
import { syntaxNote, withSyntaxNote } from '../../core/shell-syntax.js'

/** Input of the `bash` tool. */
export interface BashInput {
  cmd: string
  args?: string[] | undefined
  opts?: { cwd?: string | undefined } | undefined
}

const schema = z.object({
  cmd: z.string().describe('Executable name or path; no shell parses it'),
  args: z.array(z.string()).optional().describe('Arguments, passed as they are; for a shell use cmd "sh" and args ["-c", "…"]'),
  opts: z.object({ cwd: z.string().optional().describe('Working directory, within the root directory') }).optional(),
})

/** The `bash` tool: an executable run with arguments. */
export type BashTool = CallableTool<BashInput, string>

/** The `bash` tool of `streamOutput`: yields the output so far while the command runs, of a long one its end. */
export type StreamingBashTool = StreamingTool<BashInput, string>

const definition = {
  name: 'bash',
  schema,
  sideEffect: true,
  idempotent: false,
}

/** Makes the `bash` tool of a tool set. */
export function createBashTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): BashTool {
  const execute = (input: BashInput, ctx: DefinedToolContext): Promise<string> => {
    const run = (): Promise<string> => runCommand(input, ctx, bound, toolkit)
    return toolkit === undefined ? run() : noted(bound, input, run)
  }
  return defineBoundTool({ ...definition, description, execute }, bound, views(toolkit))
}

/** Makes the `bash` tool of a tool set with `streamOutput`. */
export function createStreamingBashTool(bound: BoundToolOptions, description: string, toolkit?: Toolkit): StreamingBashTool {
  return defineBoundTool(
    {
      ...definition,
      description,
      async *execute(input: BashInput, ctx: DefinedToolContext) {
        try {
          yield* streamCommand(input, ctx, bound, toolkit)
        } catch (error) {
          throw toolkit === undefined ? error : withSyntaxNote(error, input)
        }
      },
    },
    bound,
    views(toolkit),
  )
}

async function noted(bound: ToolOptions, input: BashInput, run: () => Promise<string>): Promise<string> {
  try {
    return await forModel('bash', bound, run)
  } catch (error) {
    throw withSyntaxNote(error, input)
  }
}

/** What a model is shown of the output: shell syntax that no shell has seen is named, also after a success. */
function views(toolkit: Toolkit | undefined): BuiltInViews<BashInput> {
  if (toolkit === undefined) return {}
  return {
    toModelOutput: ({ toolCallId, input, output }) => {
      const note = toolkit.notes.get({ toolCallId, tool: 'bash', subject: input.cmd })
      const { value } = withNote(note, output, '(no output)')
      const syntax = syntaxNote(input)
      return { type: 'text', value: syntax === undefined ? value : `${value}${value.endsWith('\n') ? '' : '\n'}(${syntax})` }
    },
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
  return runCommand({ cmd, args, opts }, undefined, documentedOptions)
}

/** The addon kills the command at the timeout; this is how much later a stuck call is given up. */
const STUCK_MS = 5_000

async function runCommand(input: BashInput, ctx: DefinedToolContext | undefined, bound: ToolOptions, toolkit?: Toolkit): Promise<string> {
  const noted = { toolCallId: ctx?.toolCallId, tool: 'bash', subject: input.cmd } as const
  toolkit?.notes.clear(noted)
  const { settings, command, limits } = planCommand(input, ctx, bound)
  const onAborted = ctx === undefined ? undefined : (printed: string) => void partialOutputs.set(ctx, printed)
  const { output, leftRunning = 0 } = await call({ ...limits, onAborted }, (addon, cancel) => addon.bash(settings(addon), command, cancel))
  toolkit?.notes.set(noted, { text: leftRunningNote(leftRunning) })
  return output ?? ''
}

/** A pause between two parts of the output, in which it gathers. */
const PAUSE_MS = 10

/** Yields the output so far, its end of a long one, and last the whole output as {@link runCommand} gives it. */
async function* streamCommand(
  input: BashInput,
  ctx: DefinedToolContext,
  bound: ToolOptions,
  toolkit: Toolkit | undefined,
): AsyncGenerator<string, void, undefined> {
  const noted = { toolCallId: ctx.toolCallId, tool: 'bash', subject: input.cmd } as const
  toolkit?.notes.clear(noted)
  const { settings, command, limits } = planCommand(input, ctx, bound)
  const events = stream(limits, (addon, cancel) => addon.bashStream(settings(addon), command, cancel))
  const live = new LiveOutput()
  let shown = ''
  try {
    let next = nextOf(events)
    for (;;) {
      const event = await unlessDue(next, live.dueIn(performance.now()))
      if (event === undefined) {
        yield (shown = live.take(performance.now()))
      } else if (event.done === true) {
        const { output: whole = '', leftRunning = 0 } = event.value
        toolkit?.notes.set(noted, { text: leftRunningNote(leftRunning) })
        if (whole !== shown || whole === '') yield whole
        return
      } else {
        live.add(event.value.text)
        if (live.dueIn(performance.now()) === 0) yield (shown = live.take(performance.now()))
        await setTimeout(PAUSE_MS)
        next = nextOf(events)
      }
    }
  } finally {
    await events.return({})
  }
}

/** The next one. It may fail while nobody waits for it: a reader looks at what was shown before. */
function nextOf<T, R>(events: AsyncGenerator<T, R, undefined>): Promise<IteratorResult<T, R>> {
  const next = events.next()
  next.catch(() => undefined)
  return next
}

/** What comes, unless the time is over before: then nothing. */
async function unlessDue<T>(work: Promise<T>, dueInMs: number | undefined): Promise<T | undefined> {
  if (dueInMs === undefined) return work
  const over = new AbortController()
  try {
    return await Promise.race([work, setTimeout(dueInMs, undefined, { signal: over.signal })])
  } finally {
    over.abort()
  }
}

function planCommand(input: BashInput, ctx: ToolContext | undefined, bound: ToolOptions) {
  const { cmd, args, cwd } = checkCommand(input)
  const plan = callPlan(ctx, bound, 'bash')
  checkBashLimits(plan)
  const guard = plan.allowNetwork ? 'off' : plan.networkGuard
  const guarded = guardNetwork(guard, cmd, args, {
    directory: directoryWithin(plan.rootDir, cwd),
    path: (plan.env === 'inherit' ? undefined : plan.env.set?.['PATH']) ?? process.env['PATH'],
    scripts: () => packageScripts(plan, cwd),
  })
  const command: Command = { cmd, args: [...guarded.args], cwd }
  if (!sharesProcessEnvironment) command.given = definedVariables(process.env)
  if (guarded.env !== noVariables) command.also = { ...guarded.env }
  return {
    settings: commandSettings(plan, bound),
    command,
    limits: plan.changeLimits(`bash ${cmd}`, plan.timeoutMs + STUCK_MS),
  }
}

/** Where the command runs; `undefined` outside the root, where the guard looks for nothing and the addon refuses the command. */
function directoryWithin(rootDir: string, cwd: string): string | undefined {
  const directory = resolve(rootDir, cwd)
  const isWithin = directory === rootDir || directory.startsWith(rootDir.endsWith('/') ? rootDir : `${rootDir}/`)
  return isWithin ? directory : undefined
}

/** The scripts of the package.json where the command runs. Only looked at to say what else can be run. */
function packageScripts(plan: CallPlan, cwd: string): Readonly<Record<string, unknown>> {
  try {
    const file = tryNowait(undefined, (addon) =>
      addon.tryReadCached(grantedRoot(addon, plan), join(cwd, 'package.json'), MOST_OF_PACKAGE, false),
    )
    const scripts = (JSON.parse(file?.toString() ?? '') as { scripts?: unknown } | null)?.scripts
    return typeof scripts === 'object' && scripts !== null ? (scripts as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

const MOST_OF_PACKAGE = 100_000

function checkCommand({ cmd, args = [], opts }: BashInput): { cmd: string; args: string[]; cwd: string } {
  if (typeof cmd !== 'string' || cmd.trim() === '') throw invalid('cmd must be a non-empty string.')
  checkText('cmd', cmd, BASH_TOOL_MAX_COMMAND_LENGTH)
  if (!Array.isArray(args)) throw invalid('args must be an array.')
  if (args.length > BASH_TOOL_MAX_ARGS) throw invalid(`args exceeds ${BASH_TOOL_MAX_ARGS} entries.`)
  // By index: a hole in the array is no string either.
  for (let index = 0; index < args.length; index += 1) {
    checkText(`args[${index}]`, args[index], BASH_TOOL_MAX_ARG_LENGTH)
  }
  const cwd = opts?.cwd ?? '.'
  checkText('opts.cwd', cwd, BASH_TOOL_MAX_CWD_LENGTH)
  for (const [index, text] of [cmd, ...args].entries()) {
    // A C string ends there: the command would be another one.
    if (text.includes('\0')) throw invalid(`${index === 0 ? 'cmd' : `args[${index - 1}]`} holds a NUL byte.`)
  }
  return { cmd, args, cwd }
}

function checkText(name: string, text: unknown, maxLength: number): void {
  if (typeof text !== 'string') throw invalid(`${name} must be a string.`)
  if (text.length > maxLength) {
    throw invalid(`${name} exceeds ${maxLength} characters.`, { maxLength, length: text.length })
  }
}

/** Whether `process.env` is the environment of the process and not a copy of it. */
const sharesProcessEnvironment = isMainThread && process.versions['bun'] === undefined

function definedVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}
