import { ContractFailure } from '../codes.js'

const known: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNREFUSED: 'nothing listens there',
  ConnectionRefused: 'nothing listens there',
  ECONNRESET: 'the connection was closed before the answer was whole',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the host does not answer',
}

/** A failure of the network, in words: what happened, and with whom. */
export function networkFailure(url: URL, error: unknown): ContractFailure {
  if (ContractFailure.isInstance(error)) return error
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : ''
  const why = known[name] ?? (typeof message === 'string' && message !== '' ? message.slice(0, 300) : 'no reason was given')
  const text = `\`${url.host}\` could not be fetched: ${why}${name === '' ? '' : ` (${name})`}. Check the URL, try again later, or use another source.`
  return new ContractFailure('network_failed', text, { cause: error })
}
