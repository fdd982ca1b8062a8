import type { ContractTool } from '../registry/contract-tool.js'

/** Ranks tools for a query: by words of their ids, descriptions and arguments. */
export type RankTools = (query: string, most: number) => ContractTool[]

/** Makes the index of these tools. The library is loaded here, since most sessions never search. */
export async function indexTools(tools: readonly ContractTool[]): Promise<RankTools> {
  const { default: MiniSearch } = await import('minisearch')
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
  return (query, most) => {
    // Whoever knows the id means that one.
    const exact = byId.get(query.trim())
    const found = index.search(query).flatMap(({ id }) => byId.get(String(id)) ?? [])
    return [...new Set(exact === undefined ? found : [exact, ...found])].slice(0, most)
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
