import type { AgentManifest } from './manifest.js'
import type { Limits } from './limits.js'
import type { SessionPolicy } from './native-policy.js'
import type { Prompt, PromptQueue } from './permissions/prompt.js'
import type { Rule } from './permissions/rule.js'
import type { RuleStore } from './permissions/rule-store.js'
import type { AskedQuestion } from './questions.js'
import type { SessionDirectory } from './session-directory.js'
import type { Todo } from './todos.js'
import type { Watchdog } from './watchdog.js'

/** What a host does for its sessions. Each is told when nobody waits for its answer any more. */
export interface SessionHost {
  /** Shows a call that needs the agreement of the user. Without it the session has no user. */
  prompt?: Prompt | undefined
  /** Shows questions, and gives an array of answers for each. Without it `question` is unavailable. */
  question?:
    | ((
        questions: readonly AskedQuestion[],
        options: { session_id: string; call_id: string; signal: AbortSignal },
      ) => string[][] | PromiseLike<string[][]>)
    | undefined
}

/** How the processes of `bash` are held besides what the session's capabilities say. */
export interface SessionSandbox {
  /** Whether a missing layer refuses the command. @default false */
  required?: boolean | undefined
  /** Which of the host's own services a command reaches. @default 'private' */
  loopback?: 'private' | 'none' | 'host' | undefined
  /** Paths that no process reads, whatever the capabilities say. */
  denyRead?: string[] | undefined
  /** Paths that no process writes. */
  denyWrite?: string[] | undefined
}

/** What the calls of one session share. */
export interface SessionCore {
  readonly id: string
  readonly manifest: AgentManifest
  /** Absolute and without links. */
  readonly roots: readonly string[]
  readonly policy: SessionPolicy
  readonly rules: RuleStore
  readonly onRule: ((rule: Rule) => void) | undefined
  readonly watchdog: Watchdog | undefined
  readonly host: SessionHost
  /** Whether nobody is there to agree or to answer. */
  readonly headless: boolean
  readonly limits: Readonly<Limits>
  readonly sandbox: SessionSandbox
  readonly directory: SessionDirectory
  readonly prompts: PromptQueue
  todos: readonly Todo[]
}
