import type { ModelMessage } from 'ai'
import type { ContractTool } from '../registry/contract-tool.js'
import type { Checkpoints } from '../../journal/checkpoints/checkpoints.js'
import type { ToolApproval } from '../../core/tool-approval.js'
import type { McpServerState } from '../mcp/mcp-servers.js'
import type { CallObserver } from '../call/call-observers.js'
import type { Judgement } from '../call/judgement.js'
import type { CallOptions } from '../call/run-call.js'
import type { PromptAnswer, PromptDecision } from '../permissions/prompt.js'
import type { Rule } from '../permissions/rule.js'
import type { Envelope } from '../registry/envelope.js'
import type { SessionRequirements } from '../registry/requirements.js'
import type { AppliedFork, ApplyForkOptions, Fork } from '../../fork/fork.js'
import type { SkillEntry } from '../skills/skill-index.js'
import type { SessionToolSet, ToolData } from '../tools/built-in-tools.js'

/**
 * Prepares a step of an agent. `activeTools` are the names in `session.tools`: locked tools, own tools, and tools of servers
 * and extensions.
 */
export type PrepareStep = <NAME extends string = string>(step: {
  messages: ModelMessage[]
}) => Promise<{ activeTools: NAME[]; messages?: ModelMessage[] }>

/** The forks that subagents of a session have worked in and that have changes. They are open until the session ends. */
export interface SessionForks {
  /** Those that were not discarded, in the order of their tasks. */
  readonly all: readonly Fork[]
  /** The fork of this name. @throws {ToolError} FORK_NOT_FOUND */
  get(id: string): Fork
  /** As {@link Fork.apply}. The fork stays until it is discarded. @throws {ToolError} FORK_NOT_FOUND; as `Fork.apply` does. */
  apply(id: string, options?: ApplyForkOptions): Promise<AppliedFork>
  /** As {@link Fork.discard}. @throws {ToolError} FORK_NOT_FOUND; as `Fork.discard` does. */
  discard(id: string): Promise<void>
}

/** Tools and their access, for one run of an agent. Close it with `close()` or `await using`. */
export interface Session extends AsyncDisposable {
  readonly id: string
  /**
   * The tools for the AI SDK: `new ToolLoopAgent({ tools: session.tools })`. They include `task`, `skill`, `web_search` and
   * `tool_search` only while there are agents, skills, a provider, and servers or extensions.
   */
  readonly tools: SessionToolSet
  /** The tools as they were registered. */
  readonly registered: readonly ContractTool[]
  /** The declared and the effective requirements. */
  readonly requirements: SessionRequirements
  /** Whether no user can agree to calls or answer questions. */
  readonly headless: boolean
  /** The skills that were found when the session began. */
  readonly skills: readonly SkillEntry[]
  /** The servers that the host has enabled, how each of them runs, and whether it is connected. */
  readonly mcpServers: readonly McpServerState[]
  /**
   * Warnings: invalid skills and tools, servers that cannot be connected, and rules about unknown tools and capabilities.
   */
  readonly warnings: readonly string[]
  /**
   * Runs between the steps of an agent: `new ToolLoopAgent({ tools: session.tools, prepareStep: session.prepareStep })`.
   * It connects servers, offers tools that searches found, delivers the outcomes of background tasks, and takes a checkpoint when
   * a turn begins.
   */
  readonly prepareStep: PrepareStep
  /** The checkpoints that it was opened with. */
  readonly checkpoints: Checkpoints | undefined
  /** The fork that it works in. */
  readonly fork: Fork | undefined
  /** The forks in which subagents of `isolation: 'fork'` have changed something, at any depth. */
  readonly forks: SessionForks
  /** The session's private directory for files outside the workspace: an absolute path, removed by `close()`. */
  readonly scratch: string
  /** The text about the scratch directory for a system prompt. */
  scratchPrompt(): string
  /**
   * Keeps a file of the scratch directory: copies it to `destination`, which must not exist yet.
   *
   * @returns the absolute path of the copy.
   * @throws {ToolError} INVALID_INPUT if the file is not in the scratch directory, or the destination exists or is in a directory
   * of which the session has a fork.
   */
  promote(path: string, destination: string): Promise<string>
  /**
   * Notes that the user has opened a file: from now on its directory is one of `{ad-hoc}`, in this session and its subagents.
   * Running calls keep their directories. The file need not exist yet, and a link is not followed.
   *
   * @throws {ToolError} INVALID_INPUT for a path whose directory does not exist, and in a closed session.
   */
  openFile(path: string): void
  /**
   * Notes that the user has closed a file. It counts as closed once it was closed as often as opened. Its directory stays
   * while other files in it are open.
   *
   * @throws {ToolError} INVALID_INPUT for a file that is not open, and in a closed session.
   */
  closeFile(path: string): void
  /**
   * Gives a process that `process_start` has started to an owner of this program, which is known by its name: the process goes on
   * when the session is closed, until it is stopped, `endDetachedProcesses` ends its owner, or this program ends.
   *
   * @returns the id by which sessions that resume it know it. In this session it has its first id.
   * @throws {ToolError} PROCESS_NOT_FOUND, PROCESS_ENDED, PROCESS_LIMIT; INVALID_INPUT for a name with other characters than
   * letters, digits, `_` and `-`.
   */
  detachProcess(processId: string, owner: string): Promise<string>
  /**
   * Has this session use the processes of an owner: its tools read, answer and stop them by these ids. They still belong to their owner.
   *
   * @throws {ToolError} INVALID_INPUT
   */
  resumeProcesses(owner: string): string[]
  /** The text about the skills for a system prompt. Empty without skills. */
  skillsPrompt(): string
  /** The instructions of the project for every agent: `AGENTS.md` and others around the workspace, the nearest last. */
  projectInstructions(): Promise<string>
  /** Calls a tool. Every failure is an envelope, even for an unknown tool or a closed session. */
  call<ID extends string>(id: ID, args: unknown, options?: CallOptions): Promise<Envelope<ToolData<ID>>>
  /**
   * Returns what the session would decide about a call, by its schema, the capabilities, the rules and the watchdog. It asks
   * no user, keeps nothing open and records nothing.
   */
  judge(id: string, args: unknown, options?: CallOptions): Promise<Judgement>
  /**
   * Asks the user through AI SDK 7: `new ToolLoopAgent({ tools: session.tools, toolApproval: session.toolApproval })`. A run
   * ends with a request for approval if the session would ask, and continues when the answer comes with the messages. An
   * approval holds only for the same arguments and targets. With a journal, another process can take the answer, in a session
   * that is opened again by its id. Pass `prepareStep` as well: it records the calls that the user denies.
   *
   * The user is not asked about a call that the rules deny: it returns a refusal, which is recorded.
   */
  readonly toolApproval: ToolApproval
  /**
   * Answers the question about one call before it is made, in place of `host.prompt`. The answer holds for a call with this
   * id and these arguments, once. If `judge` or `toolApproval` has looked at that call (`callId`), the answer holds only for
   * the targets and the reason at that time: if a link leads elsewhere by then, the session asks again. A later answer replaces
   * an earlier one.
   *
   * @throws {ToolError} INVALID_INPUT for an invalid answer, and in a closed session.
   */
  agree(callId: string, args: unknown, answer: PromptAnswer | PromptDecision): void
  /**
   * Adds rules from now on, as an `allow_always` of the user does; `onRule` gets each of them. The user is not asked again
   * about running calls. If one of the rules is invalid, none is added.
   *
   * @throws {ToolError} INVALID_INPUT, also in a closed session; CONTRACT_RULE_INVALID.
   */
  allow(rules: readonly Pick<Rule, 'permission' | 'pattern'>[], scope?: 'session' | 'project'): void
  /**
   * Observes every call of this session while it is made, including the calls of an agent, but not those of subagents.
   *
   * @returns a function that ends the observation.
   * @example
   * ```ts
   * const stop = session.observe({ onOutput: (call, text) => process.stderr.write(text) })
   * ```
   */
  observe(observer: CallObserver): () => void
  /** Stops running calls, and removes the files of the session. Closing again does nothing. */
  close(): Promise<void>
}
