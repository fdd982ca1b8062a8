// The tools of Standard Agents that the third table's calls meet.
import { defineTool } from 'toolwright/standard-agents'
import { z } from 'zod'

const success = async () => ({ status: 'success' as const, result: 'done' })

/** The tools by name. */
export const articleTools = {
  search_articles: defineTool({
    description: 'Search the articles of the shop',
    args: z.object({ query: z.string(), limit: z.number().min(1).max(50).default(10) }),
    execute: success,
  }),
  create_ticket: defineTool({
    description: 'Create a ticket',
    args: z.object({
      title: z.string(),
      priority: z.enum(['low', 'medium', 'high']),
      labels: z.array(z.string()),
      contact: z.object({ email: z.string() }),
    }),
    execute: success,
  }),
  lookup_order: defineTool({
    description: 'Look an order up',
    args: z.object({ id: z.string() }),
    tenvs: z.object({ ORDERS_URL: z.string() }),
    execute: success,
  }),
  fail: defineTool({
    description: 'Reserve the last piece',
    execute: async () => {
      throw new Error('no stock')
    },
  }),
  odd: defineTool({
    description: 'Give a text in place of a result',
    execute: async () => 'done' as never,
  }),
}
