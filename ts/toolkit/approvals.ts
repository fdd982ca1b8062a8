import { type Check, checked, type Checks, checkNames, invalid, listOf, oneOf, optional, parseOptions, text } from '../core/options.js'
import { askedCall, checkToolSet, type ToolApproval } from '../core/tool-approval.js'
import { targetOf } from '../journal/call-target.js'
import { effectOf } from './described-executor.js'

/** Which calls need the user's approval. */
export interface ApprovalPolicy {
  /** The decision for calls with a side effect. @default 'user-approval' */
  sideEffects?: 'user-approval' | 'allow' | 'deny' | undefined
  /** The decision for calls with a side effect that can safely be repeated, such as `write`. @default as `sideEffects` */
  idempotent?: 'user-approval' | 'allow' | 'deny' | undefined
  /**
   * The decision for tools that this package has not made. A provider's tool with a function of `toolwright/providers` counts
   * as made by this package.
   * @default 'user-approval'
   */
  unknown?: 'user-approval' | 'allow' | 'deny' | undefined
  /**
   * Calls that need no approval, by tool: patterns for the call's target, in which `*` is any text. The target of a command
   * is its words with spaces between them; for other tools it is the path.
   * `{ bash: ['npm test', 'npm run *'], write: ['docs/*'] }`
   *
   * No pattern covers a command in another directory (`opts.cwd`), a line in which a shell would begin another command, a
   * path with `..`, or a call with several targets. Links are not followed: where others may make links, a pattern of paths
   * is no boundary, but the rules of `toolwright/contract` are.
   */
  except?: Record<string, string[]> | undefined
}

type Verdict = 'user-approval' | 'allow' | 'deny'

const verdict = oneOf('user-approval', 'allow', 'deny')

const patterns: Check<Record<string, string[]>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object of tools and patterns.`)
  return Object.fromEntries(Object.entries(value).map(([tool, list]) => [tool, listOf(text)(list, `${name}.${tool}`)]))
}

const checks = {
  sideEffects: optional(verdict, 'user-approval'),
  idempotent: optional(verdict),
  unknown: optional(verdict, 'user-approval'),
  except: optional(patterns, {}),
} satisfies Checks<ApprovalPolicy>

/**
 * Decides for each call of these tools whether the user has to approve it. By default, calls with a side effect need an
 * approval. For AI SDK 7; {@link needsApproval} uses the result for AI SDK 6.
 *
 * @example
 * ```ts
 * const tools = createTools({ rootDir: './project' })
 * const agent = new ToolLoopAgent({ model, tools, toolApproval: approvals(tools, { except: { bash: ['npm test'] } }) })
 * ```
 * @throws {ToolError} INVALID_INPUT, also for an exception of an unknown tool.
 */
export function approvals(tools: Record<string, unknown>, policy: ApprovalPolicy = {}): ToolApproval {
  const { sideEffects, idempotent, unknown, except } = parseOptions('approvals', policy, checks)
  checked('approvals', () => {
    checkToolSet(tools)
    checkNames('except.', except, Object.keys(tools))
  })
  const exceptions = new Map(Object.entries(except).map(([tool, list]) => [tool, list.map(asExpression)]))
  const verdictOf = (tool: string, input: unknown): Verdict => {
    const metadata = Object.hasOwn(tools, tool) ? effectOf(tools[tool], input) : null
    if (metadata === null) return unknown
    if (!metadata.sideEffect) return 'allow'
    return metadata.idempotent ? (idempotent ?? sideEffects) : sideEffects
  }
  return async (options) => {
    const { toolName, input } = askedCall('approvals', options)
    const decided = verdictOf(toolName, input)
    if (decided === 'allow') return undefined
    const target = targetOf({ kind: 'tool', inputJson: JSON.stringify(input) ?? null })
    const isExcepted = exceptions.get(toolName)?.some((expression) => expression.test(target)) === true
    if (isExcepted && isPlain(input)) return undefined
    if (decided === 'deny') return { type: 'denied', reason: `The host does not allow ${toolName} here.` }
    return { type: 'user-approval', reason: `${toolName}: ${target}` }
  }
}

/** Characters that begin another command in a shell's line, or insert the output of a command or a file. */
const SHELL_SYNTAX = /[;&|<>()`$\\\n]/u

/** Whether the target describes the call completely. */
function isPlain(input: unknown): boolean {
  const { opts, workdir, action, operation, restart, ...named } = fieldsOf(input)
  const { cwd = workdir } = fieldsOf(opts)
  if (cwd !== undefined && cwd !== '.') return false
  const { commands, workingDirectory, env, user } = fieldsOf(action)
  if (workingDirectory !== undefined || env !== undefined || user !== undefined || restart === true) return false
  const lines = Array.isArray(commands) ? (commands as unknown[]) : [named['command']]
  if (lines.length !== 1) return false
  // A shell may do more with a line than the line shows.
  if (lines.some((line) => typeof line === 'string' && SHELL_SYNTAX.test(line))) return false
  const about = ['cmd', 'command', 'pattern', 'path', 'url'].filter((name) => named[name] !== undefined)
  const { path, moveTo } = { ...named, ...fieldsOf(operation) }
  return about.length <= 1 && moveTo === undefined && !(typeof path === 'string' && path.split('/').includes('..'))
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function asExpression(pattern: string): RegExp {
  const escaped = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`))
  return new RegExp(`^${escaped.join('.*')}$`, 'su')
}
