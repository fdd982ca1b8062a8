import type { Readable } from 'node:stream'
import { ContractFailure } from '../registry/codes.js'

/** The maximum size of an answer or message of a server, since the client reads all of it into memory. */
export const MAX_MESSAGE_BYTES = 10_000_000

/** `fetch` whose answers fail when they exceed the limit. */
export async function limitedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.body === null) return response
  let bytes = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > MAX_MESSAGE_BYTES) controller.error(tooLarge())
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers })
}

/** Calls a listener when a line of an output exceeds the limit, before other listeners get the end of it. */
export function whenLineTooLong(output: Readable, listener: () => void): void {
  let bytes = 0
  output.prependListener('data', (chunk: Buffer) => {
    const first = chunk.indexOf(0x0a)
    const longest = bytes + (first === -1 ? chunk.length : first)
    bytes = first === -1 ? longest : chunk.length - chunk.lastIndexOf(0x0a) - 1
    if (Math.max(longest, bytes) > MAX_MESSAGE_BYTES) listener()
  })
}

function tooLarge(): ContractFailure {
  return new ContractFailure('too_large', `The answer of the server is longer than ${MAX_MESSAGE_BYTES} bytes. Ask for less at once.`)
}
