// @ts-nocheck As the document has it, which is not strict TypeScript; only the imports are ours.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'
import { searchArticles } from '../../services.ts'

export default defineTool({
  description:
    'Search the knowledge base for product documentation, FAQs, and troubleshooting guides. Returns relevant articles sorted by relevance.',
  args: z.object({
    query: z.string().describe('Natural language search query'),
    limit: z.number().min(1).max(20).default(5).describe('Max results'),
    category: z.string().optional().describe('Filter by category name'),
  }),
  execute: async (state, args) => {
    try {
      const { results, total, offset, limit } = await searchArticles(args)
      return {
        status: 'success',
        result: JSON.stringify({
          articles: results,
          totalCount: total,
          hasMore: offset + limit < total,
        }),
      }
    } catch (error) {
      console.error('[Tool] Operation failed:', error)
      return {
        status: 'error',
        error: `Failed to complete operation: ${error.message}`,
      }
    }
  },
})
