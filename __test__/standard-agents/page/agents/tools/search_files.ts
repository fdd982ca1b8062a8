// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
import { searchVectorStore } from '../../services.ts'

export default defineTool({
  description: 'Search through uploaded files using vector embeddings',
  args: z.object({
    query: z.string().describe('Search query'),
    maxResults: z.number().optional().default(5),
  }),
  execute: async (state, args) => {
    const vectorStoreId = state.tenvs.vectorStoreId
    const results = await searchVectorStore(vectorStoreId, args.query, args.maxResults)
    return { status: 'success', result: JSON.stringify(results) }
  },
  tenvs: z.object({
    vectorStoreId: z.string().describe('OpenAI Vector Store ID'),
    userLocation: z.string().optional().describe('User location for relevance'),
  }),
})
