import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a server of this machine does with a request. */
export interface LocalHandlers {
  /** Answers a request. Whatever it throws becomes an answer through {@link LocalHandlers.fail}. */
  answer(request: IncomingMessage, response: ServerResponse): void | Promise<void>
  /** Answers with an error, as the other errors of this server are answered. */
  fail(response: ServerResponse, status: number, message: string): void
  /** Receives what nobody foresaw. It may not throw. */
  onError(error: Error): void
}

/** A server that listens on the loopback address. */
export interface LocalServer {
  readonly port: number
  /** Takes no more connections, waits for the end of the work that they asked for, and ends them. */
  close(finish?: Promise<unknown>): Promise<void>
}

/**
 * Serves HTTP on the loopback address only. No request ends the process: each one passes through one place that turns errors
 * into answers, and errors of requests, responses and connections have a listener.
 */
export async function listenLocally(port: number, { answer, fail, onError }: LocalHandlers): Promise<LocalServer> {
  const server = createServer((request, response) => void serve(request, response))

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // An error event without a listener would end the process. What the client broke off needs no answer.
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    try {
      await answer(request, response)
    } catch (error) {
      attempt(() => onError(error instanceof Error ? error : new Error(String(error))))
      // A part of another answer may be on its way; then only the end of the connection says that it failed.
      if (response.headersSent || response.writableEnded) response.destroy()
      else
        attempt(
          () => fail(response, 500, 'The request failed in the server.'),
          () => response.destroy(),
        )
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
  // Connections that cannot be accepted, for want of descriptors for example, are reported here.
  server.on('error', (error) => attempt(() => onError(error)))
  return {
    port: (server.address() as AddressInfo).port,
    async close(finish) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await finish?.catch(() => undefined)
      server.closeAllConnections()
      await closed
    },
  }
}

function attempt(action: () => void, otherwise: () => void = () => undefined): void {
  try {
    action()
  } catch {
    otherwise()
  }
}

/** The path of a request. It is compared as text: not every request line has the form of an address. */
export function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? ''
}

const LOCAL = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::(?<port>\d{1,5}))?$/iu

/**
 * Whether a `Host` names this machine, with any port: a page of another site could have pointed its own name here, and a tunnel
 * may have another port.
 */
export function isLocalHost({ headers: { host } }: IncomingMessage): boolean {
  return host !== undefined && isLocalName(host)
}

/** Whether a request comes from no web page, or from one of this machine. */
export function isLocalOrigin({ headers: { origin } }: IncomingMessage): boolean {
  return origin === undefined || (/^https?:\/\//iu.test(origin) && isLocalName(origin.replace(/^https?:\/\//iu, '')))
}

function isLocalName(name: string): boolean {
  const match = LOCAL.exec(name)
  return match !== null && Number(match.groups?.['port'] ?? 0) <= 65_535
}
