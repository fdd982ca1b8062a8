import { withinTime } from '../../core/abort.js'
import { mcpCapability, mcpResource } from '../mcp/mcp-tools.js'
import { ContractFailure } from '../registry/envelope.js'
import type { RuntimeSession, ToolRuntime } from '../registry/tool-runtime.js'
import type { CallScope } from './access-controller.js'
import { callFiles } from './call-files.js'
import { callNet } from './call-net.js'
import { callProcesses } from './call-processes.js'
import { callShell } from './call-shell.js'
import { checkAnswers, QUESTION_HEADLESS_MESSAGE } from './questions.js'

/** The runtime of one call. Every access goes through its controller. */
export function callRuntime(caller: CallScope): ToolRuntime {
  const { scope, access, id, tool, signal } = caller
  return {
    call: { id, tool },
    signal,
    limits: scope.host.limits,
    fs: callFiles(caller),
    shell: callShell(caller),
    processes: callProcesses(caller),
    net: callNet(caller),
    session: callSession(caller),
    mcp: {
      async call(server, name, args) {
        await access.use(mcpCapability(server), mcpResource(server, name))
        return scope.mcp.call(server, name, args, signal)
      },
    },
  }
}

/**
 * A runtime for tools that are not built in. Operations that such a tool does not await fail when the call is over; their
 * unhandled rejections must not end the host.
 */
export function forgivingRuntime(runtime: ToolRuntime): ToolRuntime {
  const { fs, shell, processes, net, session, mcp } = runtime
  return {
    ...runtime,
    fs: forgiving(fs),
    shell: forgiving(shell),
    processes: forgiving(processes),
    net: forgiving(net),
    session: forgiving(session),
    mcp: forgiving(mcp),
  }
}

function forgiving<T extends object>(part: T): T {
  const wrapped = Object.entries(part).map(([name, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [name, value]
    return [
      name,
      (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, part, args)
        if (result instanceof Promise) result.catch(() => undefined)
        return result
      },
    ]
  })
  return Object.fromEntries(wrapped) as T
}

function callSession({ scope, id, signal }: CallScope): RuntimeSession {
  const { sessionId, headless, question, limits } = scope.host
  return {
    id: sessionId,
    todos: {
      get: () => scope.todos.current,
      set: (todos) => {
        scope.todos.current = structuredClone(todos)
      },
    },
    skill: (name) => scope.skills.load(name),
    searchTools: (query) => scope.searchTools(query, signal),
    task: (task) => scope.runTask(task, { callId: id, signal }),
    async ask(questions) {
      if (headless || question === undefined) {
        throw new ContractFailure('question_unavailable', QUESTION_HEADLESS_MESSAGE)
      }
      const { questionMs } = limits
      const late = (): Error =>
        new ContractFailure('timeout', `Nobody answered within ${questionMs} ms. Continue with your best assumption and state it.`)
      const asked = structuredClone(questions)
      const answers = withinTime(
        (either) => question(asked, { session_id: sessionId, call_id: id, signal: either() }),
        questionMs,
        signal,
        late,
      )
      return checkAnswers(questions, await answers)
    },
  }
}
