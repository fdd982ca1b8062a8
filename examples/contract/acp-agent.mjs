// Sends the calls of a session to a client of the Agent Client Protocol, and asks the client for permission.
// `client` is the agent's connection of `@agentclientprotocol/sdk`, and `clientCapabilities` are those that the client sent at
// `initialize`.
import { acpHost, acpUpdates, createSession } from 'toolwright/contract'

/** Opens a session whose calls are shown in `sessionId` of the client. Await `updates.flush()` before a turn is answered. */
export async function openAcpSession({ client, sessionId, clientCapabilities, workspace, manifest }) {
  const shown = { client, sessionId, clientCapabilities, workspace }
  const session = await createSession({ workspace, manifest, host: acpHost(shown) })
  return { session, updates: acpUpdates(session, shown) }
}
