import type { LanguageModel } from 'ai'
import { invalid } from '../../core/options.js'
import { ContractFailure } from '../registry/envelope.js'
import type { Session } from './session.js'
import type { AgentDefinition } from '../agents/manifest.js'
import { loadLate } from '../../core/late-code.js'

const loadAgents = loadLate(() => import('ai'))

/** A subagent to run, with a session of its own, which is closed afterwards. */
export interface ChildAgent {
  readonly agent: AgentDefinition
  readonly prompt: string
  /** Its system prompt: the agent's instructions, and the skills there are. */
  readonly instructions: string
  readonly session: Session
  /** How many agents are above it. */
  readonly depth: number
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  /** Aborted with the caller. */
  readonly signal: AbortSignal
}

/** Runs a subagent, and resolves to its final answer. */
export type SpawnAgent = (child: ChildAgent) => string | PromiseLike<string>

/** The line in the system prompt of an agent with `caller: 'agent'`. */
export const CALLER_IS_AGENT = 'You were called by another agent, not by a person. Your final answer is all that it sees.'

const MAX_STEPS = 50

/** @throws {ToolError} INVALID_INPUT for an invalid model. */
export function checkModel(name: string, model: unknown): void {
  const isId = typeof model === 'string' && model !== ''
  const isModel = typeof (model as { doGenerate?: unknown } | null | undefined)?.doGenerate === 'function'
  if (!isId && !isModel) throw invalid(`${name} must be a model of the AI SDK, or the id of one.`)
}

/**
 * Runs a subagent as a `ToolLoopAgent` of the AI SDK.
 *
 * @throws {ToolError} INVALID_INPUT for an invalid model.
 */
export function loopAgent(model: LanguageModel): SpawnAgent {
  checkModel('loopAgent: model', model)
  return async ({ agent, prompt, instructions, session, signal }) => {
    const { ToolLoopAgent } = await loadAgents()
    const maxSteps = agent.maxSteps ?? MAX_STEPS
    const loop = new ToolLoopAgent({
      model: agent.model ?? model,
      ...(instructions === '' ? {} : { instructions }),
      tools: session.tools,
      prepareStep: session.prepareStep,
      stopWhen: ({ steps }) => steps.length >= maxSteps,
    })
    const { text, finishReason } = await loop.generate({ prompt, abortSignal: signal })
    if (text === '' && finishReason === 'tool-calls') {
      throw new ContractFailure('tool_failed', `The agent ${agent.name} was stopped after ${maxSteps} steps, and gave no answer.`)
    }
    return text
  }
}
