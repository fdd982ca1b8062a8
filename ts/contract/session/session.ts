import type { ModelMessage } from 'ai'
import type { ContractTool } from '../registry/contract-tool.js'
import type { ToolApproval } from '../../core/tool-approval.js'
import type { McpServerState } from '../mcp/mcp-servers.js'
import type { CallObserver } from '../call/call-observers.js'
import type { Judgement } from '../call/judgement.js'
import type { PromptAnswer, PromptDecision } from '../permissions/prompt.js'
import type { Rule } from '../permissions/rule.js'
import type { Envelope } from '../registry/envelope.js'
import type { SessionRequirements } from '../registry/requirements.js'
import type { SkillEntry } from '../skills/skill-index.js'
import type { SessionToolSet, ToolData } from '../tools/built-in-tools.js'

/**
 * Prepares a step of an agent. `activeTools` are the names in `session.tools`: those of the locked tools, of own tools, and
 * of tools that servers and extensions bring.
 */
export type PrepareStep = <NAME extends string = string>(step: {
  messages: ModelMessage[]
}) => Promise<{ activeTools: NAME[]; messages?: ModelMessage[] }>

/** How a single call is made. */
export interface CallOptions {
  /** The call's id; the same id may come again. @default made */
  callId?: string | undefined
  /** Stops it. */
  signal?: AbortSignal | undefined
  /**
   * Hears what a command prints while it runs: the text since the last time, at most ten times a second, stdout and stderr in
   * the order of arrival. Where a command prints faster than 640 KB/s, the oldest of it is missing here; the envelope has it.
   * Nothing comes after the call has ended. What it throws, or rejects with, is a warning; nobody waits for a promise of it.
   */
  onOutput?: ((text: string) => void) | undefined
}

/** Tools and their access, for one run of an agent. Close it with `close()` or `await using`. */
export interface Session extends AsyncDisposable {
  readonly id: string
  /**
   * The tools for the AI SDK: `new ToolLoopAgent({ tools: session.tools })`. `task`, `skill`, `web_search` and
   * `tool_search` are among them while there are agents, skills, a provider, and servers or extensions.
   */
  readonly tools: SessionToolSet
  /** The tools as they were registered. */
  readonly registered: readonly ContractTool[]
  /** The declared requirements, and those that hold. */
  readonly requirements: SessionRequirements
  /** Whether no user can agree to calls or answer questions. */
  readonly headless: boolean
  /** The skills that were found when it began. */
  readonly skills: readonly SkillEntry[]
  /** The servers that the host has enabled, how each of them runs, and whether it is connected. */
  readonly mcpServers: readonly McpServerState[]
  /**
   * What was left out, and why: invalid skills and tools, and servers that cannot be connected. Rules about
   * tools and capabilities that do not exist.
   */
  readonly warnings: readonly string[]
  /**
   * Goes between the steps of an agent: `new ToolLoopAgent({ tools: session.tools, prepareStep: session.prepareStep })`.
   * It connects servers, offers tools that searches found, and delivers the outcomes of background tasks.
   */
  readonly prepareStep: PrepareStep
  /** The directory for files that are not part of the workspace: absolute, its own, and removed by `close()`. */
  readonly scratch: string
  /** The text about the scratch directory for a system prompt. */
  scratchPrompt(): string
  /**
   * Keeps a file of the scratch directory: copies it to `destination`, which must not exist yet.
   *
   * @returns the absolute path of the copy.
   * @throws {ToolError} INVALID_INPUT if the file is not in the scratch directory, or the destination exists.
   */
  promote(path: string, destination: string): Promise<string>
  /**
   * The user has opened a file: from now on its directory is one of `{ad-hoc}`, in this session and its subagents.
   * Calls that have begun keep what they had. The file need not exist yet, and a link is not followed.
   *
   * @throws {ToolError} INVALID_INPUT for a path in no directory, and in a closed session.
   */
  openFile(path: string): void
  /**
   * The user has closed a file, as often as it was opened: its directory stays while others in it are open.
   *
   * @throws {ToolError} INVALID_INPUT for a file that is not open, and in a closed session.
   */
  closeFile(path: string): void
  /** The text about the skills for a system prompt. Empty without skills. */
  skillsPrompt(): string
  /** The instructions of the project for every agent: `AGENTS.md` and others around the workspace, the nearest last. */
  projectInstructions(): Promise<string>
  /** Calls a tool. Every failure, an unknown tool and a closed session too, is an envelope. */
  call<ID extends string>(id: ID, args: unknown, options?: CallOptions): Promise<Envelope<ToolData<ID>>>
  /**
   * What the session would decide about a call: by its schema, the capabilities, the rules and the watchdog. It asks no
   * user, leaves nothing open and records nothing.
   */
  judge(id: string, args: unknown, options?: CallOptions): Promise<Judgement>
  /**
   * Asks the user by the AI SDK 7: `new ToolLoopAgent({ tools: session.tools, toolApproval: session.toolApproval })`. A run
   * ends with a request for approval where the session would ask, and goes on when the answer comes with the messages. An
   * approval holds for the same arguments and targets alone. With a journal, another process can take the answer, in a
   * session that is opened again by its id. Pass `prepareStep` as well: it records the calls that the user denies.
   *
   * What the rules deny is not asked about: the call is made, and comes back as a refusal that is recorded.
   */
  readonly toolApproval: ToolApproval
  /**
   * Answers the question about one call before it is made, in place of `host.prompt`. The answer holds for a call with this
   * id and these arguments, once. If `judge` or `toolApproval` has looked at that call (`callId`), it also holds only for the targets
   * and the reason that they saw: where a link leads elsewhere meanwhile, the session asks again. A later answer replaces an earlier.
   *
   * @throws {ToolError} INVALID_INPUT for an answer that is none, and in a closed session.
   */
  agree(callId: string, args: unknown, answer: PromptAnswer | PromptDecision): void
  /**
   * Allows what these rules say from now on, as an `allow_always` of the user does; `onRule` gets each of them. Calls that
   * run are not asked again. If one of the rules is wrong, none is added.
   *
   * @throws {ToolError} INVALID_INPUT, also in a closed session; CONTRACT_RULE_INVALID.
   */
  allow(rules: readonly Pick<Rule, 'permission' | 'pattern'>[], scope?: 'session' | 'project'): void
  /**
   * Hears of every call of this session while it is made, of those that an agent makes, too. Calls of subagents are theirs.
   *
   * @returns what ends it.
   * @example
   * ```ts
   * const stop = session.observe({ onOutput: (call, text) => process.stderr.write(text) })
   * ```
   */
  observe(observer: CallObserver): () => void
  /** Stops running calls, and removes the files of the session. Closing again does nothing. */
  close(): Promise<void>
}
