/** What a host program and a model say about grants for one command. */

/** One thing that a command of `bash` asks for. Exactly one property is given. */
export interface BashGrant {
  /** A directory that the command may write. */
  writable?: string | undefined
  /** A path that it may read although it is closed. */
  readable?: string | undefined
  /** A host that it reaches by name, with a port or for all ports. */
  network?: string | undefined
}

/** A grant that the user is asked about. */
export interface GrantQuestion {
  /** What is opened for the command. */
  readonly grant: keyof BashGrant
  /** The real path, or the host with its port. It may differ from what the model wrote. */
  readonly subject: string
  /** What it opens and what stays protected, in words for the user. */
  readonly opens: string
  /** The command that gets it, and no other. */
  readonly cmd: string
  readonly args: readonly string[]
  /** Its working directory, as the model wrote it. */
  readonly cwd: string
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal | undefined
}

/** A decision of the user about a grant. */
export type GrantDecision = 'allow_once' | 'reject_once'

/** Asks the user about a grant. */
export type OnGrant = (question: GrantQuestion) => GrantDecision | PromiseLike<GrantDecision>
