import type { LanguageModel } from 'ai'
import { unlessAborted, withinTime } from '../../core/abort.js'
import { ContractFailure, thrownText } from '../registry/envelope.js'
import type { WorkEnd } from '../journal/background-record.js'
import type { RecordPart } from '../journal/session-recorder.js'
import type { Session } from './session.js'
import { type AgentDefinition, agentList, agentsForTasks } from '../agents/manifest.js'
import { BackgroundMessages } from './background-messages.js'
import { CALLER_IS_AGENT, loopAgent, type SpawnAgent } from './child-agent.js'
import type { Fork } from '../../fork/fork.js'
import type { Lineage, ParentSession } from './lineage.js'
import { type TaskForks, taskForkText } from './task-forks.js'
import type { TaskArguments, TaskData, TranscriptEntry } from '../registry/tool-runtime.js'

export type OpenChild = (lineage: Lineage, onRecord: (part: RecordPart) => void) => Promise<Session>

/** How long a child may take to end after an abort. */
const END_MS = 3_000

export class AgentTeam {
  readonly background: BackgroundMessages
  readonly #parent: ParentSession
  /** The host's own way to run an agent, or else the model of those without their own. */
  readonly #runner: { spawn: SpawnAgent | undefined; model: LanguageModel | undefined }
  readonly #open: OpenChild
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  #tasks = 0

  constructor(parent: ParentSession, runner: { spawn: SpawnAgent | undefined; model: LanguageModel | undefined }, open: OpenChild) {
    this.#parent = parent
    this.#runner = runner
    this.#open = open
    this.background = new BackgroundMessages(parent.host.limits)
  }

  /**
   * Runs a task, or begins it in the background.
   *
   * @throws {ContractFailure} invalid_arguments for an agent that takes no tasks; capability_refused where agents
   * are nested too deeply; unavailable; aborted; whatever the agent fails with.
   */
  async run(task: TaskArguments, { callId, signal }: { callId: string; signal: AbortSignal }): Promise<TaskData> {
    const agent = this.#agent(task.subagent_type)
    const spawn = this.#spawn(agent)
    const { tree, host } = this.#parent
    const { limits } = host
    if (tree.running >= limits.agents) {
      throw new ContractFailure('unavailable', `${limits.agents} agents are running already. Wait until one of them has ended.`)
    }
    tree.running += 1
    // A child never outlives its parent, even in the background.
    const ended = abortedByParent(AbortSignal.any([signal, this.#closing.signal]))
    let child: Session | undefined
    let fork: Fork | undefined
    const transcript: TranscriptEntry[] = []
    let ending: ((end: WorkEnd) => Promise<void>) | undefined
    try {
      fork = await tree.forks.open(agent, task.prompt, this.#parent.access)
      child = await this.#child(agent, callId, transcript, fork)
      if (task.background === true) ending = await this.#begin(agent.name, child.id)
    } catch (error) {
      tree.running -= 1
      await child?.close()
      // Nobody has worked in it.
      await fork?.discard().catch(() => undefined)
      throw error
    }
    const session = child
    const work = withFork(fork, tree.forks, () => this.#work(agent, spawn, session, task, ended)).finally(() => (tree.running -= 1))
    if (ending !== undefined) {
      const failed = (error: unknown): Promise<void> => ending({ failure: thrownText(error) })
      const told = work.then(({ output, fork: left }) => (left === undefined ? output : `${output}\n\n${taskForkText(left)}`))
      void this.#tracked(told.then((output) => ending({ output }), failed)).catch(() => undefined)
      return { session_id: child.id }
    }
    const done = await this.#tracked(work)
    return { session_id: child.id, ...done, ...(agent.inspectable === true ? {} : { transcript }) }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await unlessAborted(Promise.allSettled(this.#running), AbortSignal.timeout(END_MS)).catch(() => undefined)
    await this.background.close()
    if (this.#parent.depth === 0) await this.#parent.tree.forks.close(END_MS)
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work)
    return work.finally(() => this.#running.delete(work))
  }

  async #begin(agent: string, sessionId: string): Promise<(end: WorkEnd) => Promise<void>> {
    try {
      return await this.background.begin({ agent, sessionId })
    } catch (error) {
      throw new ContractFailure('recording_failed', `The task could not be recorded, and was not begun: ${thrownText(error)}`, {
        cause: error,
      })
    }
  }

  async #work(agent: AgentDefinition, spawn: SpawnAgent, session: Session, task: TaskArguments, signal: AbortSignal): Promise<string> {
    const { depth, host } = this.#parent
    const { limits } = host
    const { prompt, metadata } = task
    const instructions = [agent.instructions, agent.caller === 'agent' ? CALLER_IS_AGENT : undefined, session.skillsPrompt()]
      .filter((part) => part !== undefined && part !== '')
      .join('\n\n')
    const late = (): Error => new ContractFailure('timeout', `The agent ${agent.name} did not finish within ${limits.taskMs} ms.`)
    try {
      const run = (either: () => AbortSignal): PromiseLike<string> | string =>
        spawn({ agent, prompt, instructions, session, depth: depth + 1, metadata, signal: either() })
      const output: unknown = await withinTime(run, limits.taskMs, signal, late)
      if (typeof output !== 'string') throw new ContractFailure('invalid_output', `The agent ${agent.name} gave no text.`)
      return output
    } catch (error) {
      signal.throwIfAborted()
      if (ContractFailure.isInstance(error)) throw error
      throw new ContractFailure('tool_failed', `The agent ${agent.name} failed: ${thrownText(error)}`, { cause: error })
    } finally {
      await session.close()
    }
  }

  #child(agent: AgentDefinition, callId: string, transcript: TranscriptEntry[], fork: Fork | undefined): Promise<Session> {
    const { host, place } = this.#parent
    this.#tasks += 1
    // Ids of calls come from models, and may come again; the number tells them apart.
    const name = `${this.#tasks}-${callId.replace(/[^A-Za-z0-9._-]/gu, '_').slice(0, 80)}`
    const sessionId = `${host.sessionId}/${name}`
    const own = { runId: sessionId, nodeId: place.base, base: place.base }
    const nested = { runId: place.runId, nodeId: `${place.nodeId}/${name}`, base: place.base }
    const note = (part: RecordPart): void => {
      if (part.type !== 'result' || part.session_id !== sessionId) return
      const { tool, call_id, envelope } = part
      transcript.push({ tool, call_id, type: envelope.type, ...(envelope.type === 'error' ? { error_text: envelope.error_text } : {}) })
    }
    return this.#open({ id: sessionId, parent: this.#parent, agent, place: agent.inspectable === true ? own : nested, fork }, note)
  }

  #agent(name: string): AgentDefinition {
    const { depth, host } = this.#parent
    const { manifest, limits } = host
    const agents = agentsForTasks(manifest.agents)
    const agent = agents.find((one) => one.name === name)
    if (agent === undefined) {
      const available = agents.length === 0 ? 'There is none in this session: do it yourself.' : `The agents are: ${agentList(agents)}.`
      throw new ContractFailure('invalid_arguments', `There is no agent ${name.slice(0, 100)} that takes tasks. ${available}`)
    }
    if (depth >= limits.agentDepth) {
      throw new ContractFailure('capability_refused', `Agents are nested ${depth} deep already, which is the limit. Do it yourself.`)
    }
    return agent
  }

  #spawn({ name, model }: AgentDefinition): SpawnAgent {
    const { spawn } = this.#runner
    if (spawn !== undefined) return spawn
    const own = model ?? this.#runner.model
    if (own === undefined) throw new ContractFailure('unavailable', `The agent ${name} cannot be run: the host has given it no model.`)
    return loopAgent(own)
  }
}

/** What an agent has come to. */
type WorkDone = Required<Pick<TaskData, 'output'>> & Pick<TaskData, 'fork'>

/** Has an agent work, and tells what it has changed in its fork, also where it fails. */
async function withFork(fork: Fork | undefined, forks: TaskForks, work: () => Promise<string>): Promise<WorkDone> {
  if (fork === undefined) return { output: await work() }
  let output
  try {
    output = await work()
  } catch (error) {
    const left = await forks.settle(fork).catch(() => undefined)
    if (left === undefined || left.id === null || !ContractFailure.isInstance(error)) throw error
    throw new ContractFailure(error.code, `${error.message} ${taskForkText(left)}`, { cause: error })
  }
  return { output, fork: await forks.settle(fork) }
}

/** A signal with the reason that children see. */
function abortedByParent(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  const abort = (): void => controller.abort(new ContractFailure('aborted', 'The call was aborted by the parent.'))
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return controller.signal
}
