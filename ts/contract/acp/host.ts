import type { AskUser } from '../call/scope.js'
import type { Prompt } from '../permissions/prompt.js'
import { overwrittenText } from '../call/overwritten-text.js'
import { outboxOf } from './client.js'
import { type AcpElicitationResponse, fromAcpElicitation, toAcpElicitation } from './elicitation.js'
import { type AcpSessionOptions, parseAcpOptions } from './options.js'
import { type AcpPermissionResponse, fromAcpPermission, toAcpPermissionRequest } from './permission.js'

/**
 * The parts of a session's host that ask the client: `prompt`, and `question` if the client shows forms. A request goes out
 * after the updates of {@link acpUpdates} for its call. Updates do not wait for its answer.
 *
 * @throws {ToolError} INVALID_INPUT
 * @example
 * ```ts
 * const session = await createSession({ workspace, manifest, host: acpHost({ client, sessionId, workspace }) })
 * ```
 */
export function acpHost(options: AcpSessionOptions): { prompt: Prompt; question?: AskUser } {
  const { client, sessionId, version, workspace, hasForms } = parseAcpOptions('acpHost', options)
  const outbox = outboxOf(client, sessionId)
  const ask = async (method: string, params: object, cancellationSignal: AbortSignal): Promise<unknown> => {
    await outbox.flush()
    return client.request(method, params, { cancellationSignal })
  }
  const prompt: Prompt = async (request) => {
    const asked = toAcpPermissionRequest({ ...request, call_id: outbox.idOf(request.call_id) }, sessionId, {
      version,
      oldText: overwrittenText(request),
      workspace: workspace ?? outbox.workspace,
    })
    return fromAcpPermission((await ask('session/request_permission', asked, request.signal)) as AcpPermissionResponse)
  }
  if (!hasForms) return { prompt }
  const question: AskUser = async (questions, { call_id: toolCallId, signal }) => {
    const form = toAcpElicitation(questions, { sessionId, toolCallId: outbox.idOf(toolCallId) })
    return fromAcpElicitation((await ask('elicitation/create', form, signal)) as AcpElicitationResponse, questions)
  }
  return { prompt, question }
}
