import type { ToolSet } from 'ai'
import { noSuchTool } from '../../core/text.js'
import { agentList, agentsForTasks } from '../agents/manifest.js'
import { ContractFailure } from '../registry/envelope.js'
import type { ContractTool } from '../registry/contract-tool.js'
import { type ExecutorOf, modelTools } from '../registry/model-tools.js'
import type { RegisteredTool } from '../call/run-call.js'
import type { ToolMatch } from '../registry/tool-runtime.js'
import type { SessionPlan } from './plan-session.js'
import { registeredTool } from './plan-tools.js'

export class SessionTools {
  /** The tools that the model is offered. The object stays the same, so that an agent sees the changes. */
  readonly toolSet: ToolSet = {}
  readonly warnings: string[] = []
  readonly #plan: SessionPlan
  readonly #executorOf: ExecutorOf
  #registry: ReadonlyMap<string, RegisteredTool>
  #hasSteps = false

  constructor(plan: SessionPlan, executorOf: ExecutorOf) {
    this.#plan = plan
    this.#executorOf = executorOf
    this.#registry = plan.registry
    this.#offer()
  }

  get all(): ContractTool[] {
    return [...this.#registry.values()].map(({ tool }) => tool)
  }

  /** A tool by id. A missing or hidden one gets a stand-in that refuses, so that its call is recorded as any other. */
  get(id: string): RegisteredTool {
    if (this.#plan.catalog.isHidden(id))
      return refusingTool(id, `The tool ${id} is not listed. Find it with tool_search; then it can be called from the next step on.`)
    return this.#registry.get(id) ?? refusingTool(id, noSuchTool(id, Object.keys(this.toolSet), 'this session'))
  }

  /** Begins a step: offers the tools that searches have found and those that servers have now. @returns the ids of the offered tools. */
  async nextStep(signal: AbortSignal): Promise<string[]> {
    await this.#refresh(signal)
    this.#hasSteps = true
    this.#plan.catalog.openFound()
    this.#offer()
    return Object.keys(this.toolSet)
  }

  /** Finds hidden tools. Without steps, the end of the search is the moment from which they can be called. */
  async search(query: string, signal: AbortSignal): Promise<ToolMatch[]> {
    if (!this.#hasSteps) await this.#refresh(signal)
    const matches = await this.#plan.catalog.search(query)
    if (!this.#hasSteps) {
      this.#plan.catalog.openFound()
      this.#offer()
    }
    return matches
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { mcp, catalog, isChosen, registry: fixed, makeCheck } = this.#plan
    if (mcp.names.length === 0) return
    await mcp.refresh(signal)
    const { tools, warnings } = mcp.tools(new Set(fixed.keys()))
    for (const warning of warnings) if (!this.warnings.includes(warning)) this.warnings.push(warning)
    const registry = new Map(fixed)
    for (const tool of tools.filter(({ id }) => isChosen(id))) {
      const existing = this.#registry.get(tool.id)
      registry.set(tool.id, existing?.tool === tool ? existing : registeredTool(tool, makeCheck))
    }
    const isSame = registry.size === this.#registry.size && [...registry].every(([id, one]) => this.#registry.get(id) === one)
    if (isSame) return
    this.#registry = registry
    catalog.replace(this.all)
    this.#offer()
  }

  #offer(): void {
    const callable = this.#plan.catalog.callable.filter(({ id }) => isUsable(id, this.#plan))
    const offered = modelTools(
      callable.map((tool) => this.#described(tool)),
      this.#executorOf,
      this.#plan.results,
    )
    for (const id of Object.keys(this.toolSet)) if (!(id in offered)) delete this.toolSet[id]
    Object.assign(this.toolSet, offered)
  }

  #described(tool: ContractTool): ContractTool {
    const { access, host } = this.#plan.self
    const { roots } = access
    const description = withoutMissing(tool, access.tools)
    const extended = (more: string): ContractTool => ({ ...tool, description: `${description} ${more}` })
    const agents = tool.id === 'task' ? agentsForTasks(host.manifest.agents) : []
    if (agents.length > 0) return extended(`The agents are: ${agentList(agents)}.`)
    const searches = ['glob', 'grep', 'repo_overview'].includes(tool.id)
    if (!searches || roots.length < 2) return { ...tool, description }
    return extended(`The workspace is ${roots.join(', ')}; relative paths begin in the first of them.`)
  }
}

/** Whether the host provides what a tool needs. A model would try a tool without it in vain. */
function isUsable(id: string, { self, catalog, mcp }: SessionPlan): boolean {
  if (id === 'task') return agentsForTasks(self.host.manifest.agents).length > 0
  if (id === 'web_search') return self.web.provider !== undefined
  if (id === 'skill') return self.skills.entries.length > 0
  // The tools of servers are known once they are connected: without steps, at the first search.
  return id !== 'tool_search' || catalog.hasFindable || mcp.names.length > 0
}

/** Sentences of built-in descriptions that recommend another tool. */
const recommendations: Readonly<Record<string, { sentence: string; tool: string }>> = {
  write: { sentence: ' To change part of a file, use edit.', tool: 'edit' },
  edit: { sentence: ' To create a file, use write.', tool: 'write' },
  web_search: { sentence: ' Read a result with web_fetch.', tool: 'web_fetch' },
}

function withoutMissing({ id, description }: ContractTool, tools: ReadonlySet<string>): string {
  const { sentence, tool } = (Object.hasOwn(recommendations, id) ? recommendations[id] : undefined) ?? {}
  return sentence === undefined || tool === undefined || tools.has(tool) ? description : description.replace(sentence, '')
}

function refusingTool(id: string, text: string): RegisteredTool {
  const check = (): never => {
    throw new ContractFailure('unknown_tool', text)
  }
  const tool: ContractTool = { id, description: id, parameters: {}, requires: {}, execute: check }
  return { tool, check, effect: false, builtIn: true }
}
