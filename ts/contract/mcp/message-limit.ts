import type { Readable } from 'node:stream'
import { ContractFailure } from '../codes.js'

/** The most that one answer, or one message, of a server may have: the client reads it whole into memory. */
export const MAX_MESSAGE_BYTES = 10_000_000

/** `fetch` with answers that end with an error where they are longer. */
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

/** Tells of an output of lines in which one is longer. */
export function whenLineTooLong(output: Readable, listener: () => void): void {
  let bytes = 0
  output.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(0x0a)
    bytes = end === -1 ? bytes + chunk.length : chunk.length - end - 1
    if (bytes > MAX_MESSAGE_BYTES) listener()
  })
}

function tooLarge(): ContractFailure {
  return new ContractFailure('too_large', `The answer of the server is longer than ${MAX_MESSAGE_BYTES} bytes. Ask for less at once.`)
}
