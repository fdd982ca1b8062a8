import { ContractFailure } from '../registry/envelope.js'

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNREFUSED: 'nothing listens there',
  ConnectionRefused: 'nothing listens there',
  ECONNRESET: 'the connection was closed before the answer was whole',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the host does not answer',
}

/** Problems of certificates. Nothing was sent, and trying again does not help. */
const untrusted = 'is from an authority that is not trusted here; the user of this host can name one by NODE_EXTRA_CA_CERTS'
const certificates: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host',
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'has been revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is signed by nobody but itself',
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_UNTRUSTED: untrusted,
}

/** Describes a failure of the network: what happened, and with which host. */
export function networkFailure(url: URL, error: unknown): ContractFailure {
  if (ContractFailure.isInstance(error)) return error
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : ''
  const certificate = Object.hasOwn(certificates, name) ? certificates[name] : undefined
  if (certificate !== undefined) {
    const text = `\`${url.host}\` could not be fetched: its certificate ${certificate} (${name}). Check the host's name, or use another source.`
    return new ContractFailure('network_failed', text, { cause: error })
  }
  const why = reasons[name] ?? (typeof message === 'string' && message !== '' ? message.slice(0, 300) : 'no reason was given')
  const text = `\`${url.host}\` could not be fetched: ${why}${name === '' ? '' : ` (${name})`}. Check the URL, try again later, or use another source.`
  return new ContractFailure('network_failed', text, { cause: error })
}
