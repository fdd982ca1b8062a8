// How the calls of a session reach a client of the Agent Client Protocol, and its prompts come back.
// `client` is what `@agentclientprotocol/sdk` gives an agent of its connection, and `clientCapabilities` what the client said
// at `initialize`.
import { acpHost, acpUpdates, createSession } from 'toolwright/contract'

/** Opens a session whose calls are shown in `sessionId` of the client. Await `updates.flush()` before a turn is answered. */
export async function openAcpSession({ client, sessionId, clientCapabilities, workspace, manifest }) {
  const shown = { client, sessionId, clientCapabilities, workspace }
  const session = await createSession({ workspace, manifest, host: acpHost(shown) })
  return { session, updates: acpUpdates(session, shown) }
}
