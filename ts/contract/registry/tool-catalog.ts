import type { ToolMatch } from './tool-runtime.js'
import type { ContractTool } from './contract-tool.js'
import { boolean, type Checks, group, optional, wholeNumber } from '../../core/options.js'
import { loadLate } from '../../core/late-code.js'

const loadIndex = loadLate(() => import('minisearch'))

/** Decides which tools of a session can be called. Those of servers and extensions are hidden if there are many tools. */
export class ToolCatalog {
  readonly #options: ReturnType<typeof toolSearchOptions>
  readonly #found = new Set<string>()
  #tools: readonly ContractTool[]
  /** The tools that can be called in this step. Tools found during a step can be called from the next one on. */
  #open: ReadonlySet<string> = new Set()
  #rank: Promise<RankTools> | undefined

  constructor(tools: readonly ContractTool[], options: ReturnType<typeof toolSearchOptions>) {
    this.#tools = tools
    this.#options = options
    this.openFound()
  }

  /** Whether there are too many tools to list them all, and a way to find the others. */
  get #isHiding(): boolean {
    const canSearch = this.#tools.some(({ id }) => id === 'tool_search')
    return canSearch && this.#options.enabled && this.#tools.length > this.#options.threshold
  }

  /** Whether there are tools that a search can find. */
  get hasFindable(): boolean {
    return this.#tools.some(({ extension }) => extension === true)
  }

  /** The tools that can be called now. */
  get callable(): ContractTool[] {
    return this.#tools.filter(({ id }) => this.#open.has(id))
  }

  /** Whether a tool exists that can only be called after a search has found it. */
  isHidden(id: string): boolean {
    return !this.#open.has(id) && this.#tools.some((tool) => tool.id === id)
  }

  /** Makes these the tools from now on. */
  replace(tools: readonly ContractTool[]): void {
    this.#tools = tools
    this.#rank = undefined
    this.openFound()
  }

  /** The best matches. They can be called after {@link openFound}, and for the rest of the session. */
  async search(query: string): Promise<ToolMatch[]> {
    const deferred = this.#tools.filter(({ extension }) => extension === true)
    const rank = await (this.#rank ??= indexTools(deferred))
    const matches = rank(query, this.#options.maxMatches)
    for (const { id } of matches) this.#found.add(id)
    return matches.map(({ id, description }) => ({ id, description }))
  }

  /** Lets the tools that were found so far be called. */
  openFound(): void {
    const isOpen = ({ id, extension }: ContractTool): boolean => !this.#isHiding || extension !== true || this.#found.has(id)
    this.#open = new Set(this.#tools.filter(isOpen).map(({ id }) => id))
  }
}

/** Ranks tools for a query: by words of their ids, descriptions and arguments. */
export type RankTools = (query: string, max: number) => ContractTool[]

/** Makes the index of these tools. The library is loaded here, since most sessions never search. */
export async function indexTools(tools: readonly ContractTool[]): Promise<RankTools> {
  const { default: MiniSearch } = await loadIndex()
  const index = new MiniSearch<{ id: string; description: string; parameters: string }>({
    fields: ['id', 'description', 'parameters'],
    tokenize: wordsOf,
    searchOptions: {
      boost: { id: 3, description: 2 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    },
  })
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  index.addAll(tools.map(({ id, description, parameters }) => ({ id, description, parameters: argumentsOf(parameters) })))
  return (query, max) => {
    // The exact id comes first.
    const exact = byId.get(query.trim())
    const matches = index.search(query).flatMap(({ id }) => byId.get(String(id)) ?? [])
    return [...new Set(exact === undefined ? matches : [exact, ...matches])].slice(0, max)
  }
}

/** `github_createIssue` is about github, create and issue. */
function wordsOf(text: string): string[] {
  return text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .slice(0, 1_000)
}

function argumentsOf({ properties }: ContractTool['parameters']): string {
  if (typeof properties !== 'object' || properties === null) return ''
  return Object.entries(properties as Record<string, { description?: unknown } | null>)
    .flatMap(([name, value]) => [name, typeof value?.description === 'string' ? value.description : ''])
    .join(' ')
    .slice(0, 10_000)
}

/** When tools of servers and extensions are hidden, and how many a search returns. */
export interface ToolSearchOptions {
  /** Whether tools are hidden at all. @default true */
  enabled?: boolean | undefined
  /** Up to this number, all tools are listed. @default 20 */
  threshold?: number | undefined
  /** The maximum number of matches of one search, at most 10. @default 10 */
  maxMatches?: number | undefined
}

const MAX_MATCHES = 10

/** The options with their defaults. */
export const toolSearchOptions = group({
  enabled: optional(boolean, true),
  threshold: optional(wholeNumber(0), 20),
  maxMatches: optional(wholeNumber(1, MAX_MATCHES), MAX_MATCHES),
} satisfies Checks<ToolSearchOptions>)
