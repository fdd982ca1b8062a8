import { APICallError, RetryError } from 'ai'

/**
 * One sentence, or a few, for whatever ended the run. Stacks and response bodies are of no use to
 * somebody whose key is wrong.
 *
 * @param {unknown} error
 * @returns {string}
 */
export function describeFailure(error) {
  if (RetryError.isInstance(error) && error.lastError !== undefined) {
    return `${describeFailure(error.lastError)} (tried ${error.errors.length} times)`
  }
  if (APICallError.isInstance(error)) return describeApiFailure(error)
  // The gateway wraps what went wrong, and puts less into its own message.
  if (error instanceof Error && APICallError.isInstance(error.cause)) return describeApiFailure(error.cause)
  return error instanceof Error ? error.message : String(error)
}

/** @param {APICallError} error */
function describeApiFailure({ url, statusCode, message, cause }) {
  const host = URL.parse(url)?.host ?? 'the model'
  if (statusCode === undefined) {
    const reason = deepest(cause) ?? message
    return `The model server ${host} did not answer: ${reason}`
  }
  const said = message.trim() === '' ? '' : `: ${message.trim()}`
  // A server that ends the answer half-way has sent its 200 before.
  if (statusCode < 400) return `The model server ${host} sent an answer that cannot be used${said}`
  const next = { 401: '; check the key', 403: '; check the key', 404: '; check the address and the name of the model' }
  return `The model server ${host} answered ${statusCode}${said}${next[/** @type {401} */ (statusCode)] ?? ''}`
}

/**
 * The last error of a chain: the ones before it say "fetch failed".
 *
 * @param {unknown} error
 * @returns {string | undefined}
 */
function deepest(error) {
  if (!(error instanceof Error)) return undefined
  return deepest(error.cause) ?? (error.message || /** @type {NodeJS.ErrnoException} */ (error).code)
}
