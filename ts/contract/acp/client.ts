/** What the connection to a client has to have, and the order in which it is told things. */

/** The client at the other end of a connection, as `@agentclientprotocol/sdk` gives it to an agent: `connection.client`. */
export interface AcpClient {
  notify(method: string, params: object): Promise<unknown> | void
  request(method: string, params: object, options?: { cancellationSignal?: AbortSignal }): Promise<unknown>
}

/** The parts of what a client says at `initialize` that decide how it is told things. */
export interface AcpClientCapabilities {
  elicitation?: { form?: object | null } | null
  _meta?: Record<string, unknown> | null
}

/** How many updates may wait for a client that does not read. */
const MAX_WAITING = 10_000

/** What is to be sent: made when its turn has come, so that what came meanwhile goes with it. */
export type MakeMessages = () => Iterable<object>

/** Sends the notifications of one session of a client, one after the other, in the order in which they were queued. */
export class Outbox {
  readonly #client: AcpClient
  readonly #sessionId: string
  #waiting: MakeMessages[] = []
  #sending: Promise<void> | undefined
  #failure: { error: unknown } | undefined
  /** The ids that calls have here, by their own ids: the last one of each. */
  readonly #ids = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** Where relative paths of the session begin, once it has made a call. */
  workspace: string | undefined

  constructor(client: AcpClient, sessionId: string) {
    this.#client = client
    this.#sessionId = sessionId
  }

  /** An id for a call: its own, unless an earlier call of the client's session has that one. */
  newId(callId: string): string {
    let id = callId
    for (let nth = 2; this.#taken.has(id); nth += 1) id = `${callId}.${nth}`
    this.#taken.add(id)
    this.#ids.set(callId, id)
    return id
  }

  /** The id of the last call that has this one. */
  idOf(callId: string): string {
    return this.#ids.get(callId) ?? callId
  }

  /** Queues updates. After a failure nothing is sent any more: the order would have a gap. */
  push(make: MakeMessages): void {
    if (this.#failure !== undefined) return
    if (this.#waiting.length >= MAX_WAITING) return this.#fail(new Error('The client does not read its updates.'))
    this.#waiting.push(make)
    this.#sending ??= this.#send()
  }

  /** Waits until all that was queued has been sent. @throws what the connection threw. */
  async flush(): Promise<void> {
    while (this.#sending !== undefined) {
      // eslint-disable-next-line no-await-in-loop -- more may have been queued
      await this.#sending
    }
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async #send(): Promise<void> {
    // What is queued in the same turn goes out in order all the same, and the caller is not held up.
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

/** The outbox of a session of a client. Updates and requests share it, so that a request comes after what led to it. */
export function outboxOf(client: AcpClient, sessionId: string): Outbox {
  let ofClient = outboxes.get(client)
  if (ofClient === undefined) outboxes.set(client, (ofClient = new Map()))
  let outbox = ofClient.get(sessionId)
  if (outbox === undefined) ofClient.set(sessionId, (outbox = new Outbox(client, sessionId)))
  return outbox
}
