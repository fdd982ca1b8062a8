import { defineTool } from 'toolwright'
import { z } from 'zod'

const options = {
  name: 'email.send',
  schema: z.object({ to: z.string() }),
  sideEffect: true,
  idempotent: false,
}

/** Sends mail: what a retry must not do twice. It notes in `keys` with which key it was sent. */
export const keyedEmail = (keys) =>
  defineTool({
    ...options,
    execute: async ({ to }, ctx) => {
      keys.push(ctx.idempotencyKey)
      return `sent to ${to}`
    },
  })

/** The same without a context, and so without a key. */
export const unkeyedEmail = (sent) =>
  defineTool({
    ...options,
    execute: async ({ to }) => {
      sent.push(to)
      return `sent to ${to}`
    },
  })
