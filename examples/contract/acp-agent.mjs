// How the calls of a session reach a client of the Agent Client Protocol, and its prompts come back.
// `client` is what `@agentclientprotocol/sdk` gives an agent of its connection.
import { methods } from '@agentclientprotocol/sdk'
import { createSession, fromAcpPermission, toAcpPermissionRequest, toAcpToolCall } from 'toolwright/contract'

/** Opens a session whose calls are shown in `sessionId` of the client. */
export function openAcpSession({ client, sessionId, workspace, manifest }) {
  const shown = new Set()
  return createSession({
    workspace,
    manifest,
    host: {
      prompt: async (request) => {
        const asked = toAcpPermissionRequest(request, sessionId, { workspace })
        return fromAcpPermission(await client.request(methods.client.session.requestPermission, asked))
      },
    },
    onRecord: async ({ call_id: id, tool, args, envelope }) => {
      const call = toAcpToolCall({ id, tool, args }, envelope, { workspace })
      const sessionUpdate = shown.has(id) ? 'tool_call_update' : 'tool_call'
      shown.add(id)
      await client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate, ...call } })
    },
  })
}
