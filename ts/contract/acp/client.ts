/** The connection to a client, and the order of its messages. */

/** The client of a connection: `connection.client` of an agent in `@agentclientprotocol/sdk`. */
export interface AcpClient {
  notify(method: string, params: object): Promise<unknown> | void
  request(method: string, params: object, options?: { cancellationSignal?: AbortSignal }): Promise<unknown>
}

/** The capabilities that a client sends at `initialize`, as far as they matter here. */
export interface AcpClientCapabilities {
  elicitation?: { form?: object | null } | null
  _meta?: Record<string, unknown> | null
}

/** The most updates that wait for a client that does not read. */
const MAX_WAITING = 10_000

/** A message that is made when it is its turn, so that it includes everything until then. */
export type MakeMessages = () => Iterable<object>

/** Sends the notifications of one client session, one after the other, in the order of the queue. */
export class Outbox {
  readonly #client: AcpClient
  readonly #sessionId: string
  #waiting: MakeMessages[] = []
  #sending: Promise<void> | undefined
  #failure: { error: unknown } | undefined
  /** The ids of calls in the client's session by the calls' own ids: the last one of each. */
  readonly #ids = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** The base of relative paths, known after the session's first call. */
  workspace: string | undefined

  constructor(client: AcpClient, sessionId: string) {
    this.#client = client
    this.#sessionId = sessionId
  }

  /** An id for a call: its own, unless an earlier call of the client's session has it. */
  newId(callId: string): string {
    let id = callId
    for (let nth = 2; this.#taken.has(id); nth += 1) id = `${callId}.${nth}`
    this.#taken.add(id)
    this.#ids.set(callId, id)
    return id
  }

  /** The id in the client's session of the last call with this id. */
  idOf(callId: string): string {
    return this.#ids.get(callId) ?? callId
  }

  /** Queues updates. Nothing is sent after a failure, because the order would have a gap. */
  push(make: MakeMessages): void {
    if (this.#failure !== undefined) return
    if (this.#waiting.length >= MAX_WAITING) return this.#fail(new Error('The client does not read its updates.'))
    this.#waiting.push(make)
    this.#sending ??= this.#send()
  }

  /** Waits until all queued messages have been sent. @throws the connection's error. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) {
      // eslint-disable-next-line no-await-in-loop -- more may have been queued
      await this.#sending
    }
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async #send(): Promise<void> {
    // Messages that are queued in the same turn still go out in order, and the caller does not wait.
    await Promise.resolve()
    try {
      for (let make = this.#waiting.shift(); make !== undefined; make = this.#waiting.shift()) {
        for (const update of make()) {
          // eslint-disable-next-line no-await-in-loop -- one after the other
          await this.#client.notify('session/update', { sessionId: this.#sessionId, update })
        }
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#sending = undefined
    }
  }

  #fail(error: unknown): void {
    this.#failure = { error }
    this.#waiting = []
  }
}

const outboxes = new WeakMap<AcpClient, Map<string, Outbox>>()

/** The outbox of a client session. Updates and requests share it, so that a request comes after the call that needs it. */
export function outboxOf(client: AcpClient, sessionId: string): Outbox {
  let ofClient = outboxes.get(client)
  if (ofClient === undefined) outboxes.set(client, (ofClient = new Map()))
  let outbox = ofClient.get(sessionId)
  if (outbox === undefined) ofClient.set(sessionId, (outbox = new Outbox(client, sessionId)))
  return outbox
}
