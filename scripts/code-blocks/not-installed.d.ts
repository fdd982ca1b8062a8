// Packages that the documentation uses and that this repository does not install, as far as it uses them.
// What they are given is checked; that they have these names is known from their documentation.

declare module '@ai-sdk/react' {
  import type { AbstractChat, ChatInit, UIMessage } from 'ai'
  export function useChat<MESSAGE extends UIMessage = UIMessage>(
    options?: ChatInit<MESSAGE>,
  ): Pick<AbstractChat<MESSAGE>, 'addToolApprovalResponse' | 'error' | 'messages' | 'sendMessage' | 'status' | 'stop'>
}

declare module '@dbos-inc/dbos-sdk' {
  export const DBOS: {
    setConfig(config: { name: string; systemDatabaseUrl?: string; systemDatabasePool?: object; executorID?: string | undefined }): void
    registerWorkflow<T>(
      workflow: (runId: string, prompt: string) => Promise<T>,
      options: { name: string },
    ): (runId: string, prompt: string) => Promise<T>
    launch(): Promise<void>
    readonly executorID: string
    readonly applicationVersion: string
    listWorkflows(input: {
      status?: string | string[]
      workflowIDs?: string[]
    }): Promise<{ workflowID: string; executorId?: string; applicationVersion?: string }[]>
    resumeWorkflows(workflowIDs: string[]): Promise<unknown[]>
    runStep<T>(fn: () => Promise<T>, config: { name: string }): Promise<T>
    startWorkflow<T>(
      workflow: (runId: string, prompt: string) => Promise<T>,
      options: { workflowID: string },
    ): (runId: string, prompt: string) => Promise<{ getResult(): Promise<T> }>
  }
}

declare module '@langchain/anthropic' {
  import type { AiMessage, Message } from '@langchain/core/messages'
  export class ChatAnthropic {
    constructor(options: { model: string })
    bindTools(tools: object[]): { invoke(messages: Message[]): Promise<AiMessage> }
  }
}

declare module '@langchain/core/messages' {
  export interface Message {
    text: string
  }
  export type AiMessage = Message
  export class HumanMessage implements Message {
    constructor(text: string)
    text: string
  }
  export class ToolMessage implements Message {
    constructor(fields: { content: string; status: 'error' | 'success'; tool_call_id: string })
    text: string
  }
}

declare module '@langchain/core/tools' {
  export function tool(
    fn: (
      input: unknown,
      config: {
        toolCall: { id: string }
        configurable: { thread_id: string }
        metadata: { langgraph_checkpoint_ns: string }
        signal?: AbortSignal
      },
    ) => Promise<unknown>,
    options: { name: string; description: string; schema: unknown },
  ): object
}

declare module '@langchain/langgraph' {
  import type { Message } from '@langchain/core/messages'
  interface State {
    messages: Message[]
  }
  export const MessagesAnnotation: unique symbol
  export class StateGraph {
    constructor(state: typeof MessagesAnnotation)
    addNode(name: string, node: ((state: State) => Promise<State>) | object): this
    addEdge(from: string, to: string): this
    addConditionalEdges(from: string, decide: object): this
    compile(options: { checkpointer: object }): {
      getState(config: object): Promise<{ createdAt?: string }>
      invoke(input: State | null, config: { durability: 'async' | 'exit' | 'sync' }): Promise<State>
    }
  }
}

declare module '@langchain/langgraph-checkpoint-postgres' {
  export class PostgresSaver {
    static fromConnString(url: string): PostgresSaver
    setup(): Promise<void>
    end(): Promise<void>
  }
}

declare module '@langchain/langgraph/prebuilt' {
  export const toolsCondition: object
  export class ToolNode {
    constructor(tools: object[], options: { handleToolErrors: boolean })
    invoke(state: object): Promise<object>
  }
}

declare module '@restatedev/restate-sdk' {
  export class TerminalError extends Error {}
  export interface Context {
    request(): { id: string }
    run<T>(name: string, fn: () => Promise<T>): PromiseLike<T>
  }
  export function service(definition: { name: string; handlers: object }): object
  export function serve(options: { services: object[]; port: number }): Promise<number>
}

declare module '@temporalio/activity' {
  export { ApplicationFailure } from '@temporalio/workflow'
  export function activityInfo(): { workflowExecution?: { workflowId: string } }
  export function cancellationSignal(): AbortSignal
  export function heartbeat(): void
}

declare module '@temporalio/client' {
  export class Connection {
    static connect(options: { address?: string | undefined }): Promise<Connection>
    close(): Promise<void>
  }
  interface StartOptions {
    taskQueue: string
    workflowId: string
    args: unknown[]
    workflowIdConflictPolicy: 'FAIL' | 'USE_EXISTING'
  }
  export class Client {
    constructor(options: { connection: Connection })
    readonly workflow: { execute(name: string, options: StartOptions): Promise<unknown> }
  }
}

declare module '@temporalio/worker' {
  export class NativeConnection {
    static connect(options: { address?: string | undefined }): Promise<NativeConnection>
    close(): Promise<void>
  }
  interface WorkerOptions {
    connection: NativeConnection
    taskQueue: string
    workflowsPath: string
    activities: object
    shutdownGraceTime: string
  }
  export class Worker {
    static create(options: WorkerOptions): Promise<Worker>
    run(): Promise<void>
  }
}

declare module '@temporalio/workflow' {
  export class ActivityFailure extends Error {}
  export class ApplicationFailure extends Error {
    static nonRetryable(message: string, type: string): ApplicationFailure
  }
  export function proxyActivities<T>(options: { startToCloseTimeout: string; heartbeatTimeout: string; retry: object }): T
  export function workflowInfo(): { firstExecutionRunId: string }
}

declare module 'bullmq' {
  export class UnrecoverableError extends Error {}
  export interface Job {
    id?: string
    queueName: string
    data: { prompt: string }
  }
  export class Worker {
    constructor(
      name: string,
      process: (job: Job) => Promise<unknown>,
      options: { connection: { url: string }; lockDuration?: number; stalledInterval?: number; maxStalledCount?: number },
    )
    close(): Promise<void>
  }
  export class Queue {
    constructor(name: string, options: { connection: { url?: string | undefined } })
    add(name: string, data: unknown, options: { jobId?: string | undefined; attempts?: number; backoff?: object }): Promise<Job>
    close(): Promise<void>
  }
}

declare module 'inngest' {
  interface FunctionContext {
    event: { data: { prompt: string } }
    step: { run<T>(name: string, fn: () => Promise<T>): Promise<T> }
    runId: string
  }
  export class Inngest {
    constructor(options: { id: string })
    createFunction(
      options: { id: string; retries: number; triggers: { event: string }[] },
      run: (context: FunctionContext) => Promise<unknown>,
    ): object
  }
  export class NonRetriableError extends Error {}
}

declare module 'inngest/node' {
  import type { RequestListener } from 'node:http'
  export function serve(options: { client: object; functions: object[] }): RequestListener
}

declare module 'ioredis' {
  export class Redis {
    constructor(url: string)
    hexists(key: string, field: string): Promise<number>
    hget(key: string, field: string): Promise<string | null>
    hsetnx(key: string, field: string, value: string): Promise<number>
    disconnect(): void
  }
}

declare module 'next' {
  export interface NextConfig {
    output?: 'standalone' | 'export'
    outputFileTracingIncludes?: Record<string, string[]>
    serverExternalPackages?: string[]
  }
}

declare module 'react' {
  export function useState<T>(initial: T): [T, (value: T) => void]
}

declare module 'workflow' {
  export function getWorkflowMetadata(): { workflowRunId: string }
}

declare module 'workflow/api' {
  export function start<A extends unknown[]>(workflow: (...args: A) => Promise<unknown>, args: A): Promise<{ runId: string }>
  export function getRun(runId: string): { readonly status: Promise<string>; readonly returnValue: Promise<unknown> }
}

declare module 'workflow/runtime' {
  export function getWorld(): { start?(): Promise<void> }
}

// What a file of JSX is compiled against: any element, with event handlers that know their event.
declare namespace JSX {
  type Element = object
  interface IntrinsicElements {
    [name: string]: {
      [attribute: string]: unknown
      onSubmit?: (event: { preventDefault(): void }) => void
      onChange?: (event: { target: { value: string } }) => void
      onClick?: () => void
    }
  }
}
