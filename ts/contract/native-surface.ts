/** The addon's part for the tool contract, as this module needs it. */
import type { CancelHandle, EnvironmentOptions, NativeError } from '../../index.js'

/** What the variables of patterns stand for: absolute paths. */
export interface NativeVariables {
  workspace: string[]
  adHoc: string[]
  userData?: string
}

export interface NativePolicyRequest {
  variables: NativeVariables
  /** All of the outer list must allow, any of an inner one may. */
  conjunction: { source: string; requires: unknown }[][]
  denyWrite?: string[]
  implicitRead?: string[]
  implicitWrite?: string[]
}

export interface NativeGrants {
  readable: string[]
  writable: string[]
  readsAll: boolean
  network: boolean
  notGranted?: string[]
}

export interface NativePolicy {
  expanded(): unknown
  checkHost(host: string, port?: number): NativeError | null
  checkCapability(name: string): NativeError | null
  checkCommand(line: string): NativeError | null
  processGrants(): NativeGrants
}

export interface NativeRule {
  permission: string
  pattern: string
  action?: string
  source?: string
}

export interface NativeSubject {
  capability: string
  kind: 'path' | 'host' | 'command' | 'text'
  resource: string
}

export interface NativeVerdict {
  action: 'allow' | 'deny' | 'ask'
  matched: boolean
  decisive: number
  subjects: {
    capability: string
    resource: string
    action: 'allow' | 'deny' | 'ask'
    rule?: number
    final: boolean
    restricted?: string
  }[]
  userAllowed: boolean
}

export interface NativeRules {
  evaluate(toolId: string, subjects: NativeSubject[]): NativeVerdict
}

export interface ParsedCommand {
  text: string
  argv?: string[]
  restricted?: string
}

interface Ended {
  cancelled: boolean
  error?: NativeError
}

export interface SidecarRequest {
  directory: string
  name: string
  limitBytes: number
}

export interface SidecarMade {
  path: string
  bytes: number
  full: boolean
}

export interface NativePublish {
  fsync: boolean
  allowInPlace: boolean
  waitMs: number
}

export interface RangeOutcome extends Ended {
  text?: string
  bytes?: Buffer
  offset: number
  nextOffset?: number
  fileBytes: number
  lossy: boolean
}

export interface NativeWriteOutcome extends Ended {
  created?: boolean
  bytes?: number
}

export interface NativeEditOutcome extends Ended {
  replacements?: number
  line?: number
}

export interface NativeSearch {
  timeoutMs: number
  toolId: string
  sidecar?: SidecarRequest
}

export interface NativeGrepRequest extends NativeSearch {
  pattern: string
  glob?: string
  caseInsensitive: boolean
  maxMatches: number
  maxLineBytes: number
}

export interface NativeGrepOutcome extends Ended {
  matches?: { path: string; line: number; text: string }[]
  filesScanned?: number
  truncated: boolean
  sidecar?: SidecarMade
}

export interface NativeGlobRequest extends NativeSearch {
  pattern: string
  maxEntries: number
}

export interface NativeGlobOutcome extends Ended {
  entries?: string[]
  truncated: boolean
  sidecar?: SidecarMade
}

export interface NativeTarget {
  readonly realPath: string
  readonly requestedPath: string
  readonly displayPath: string
  readonly kind: 'file' | 'directory' | 'missing'
  readonly bytes?: number
  readonly implicit: boolean
  readAtOnce(limitBytes: number): string | Buffer | null
  readRange(offset: number, limitBytes: number, cancel: CancelHandle): Promise<RangeOutcome>
  write(content: string, limitBytes: number, publish: NativePublish, cancel: CancelHandle): Promise<NativeWriteOutcome>
  edit(
    edit: { oldString: string; newString: string; replaceAll: boolean },
    limitBytes: number,
    publish: NativePublish,
    cancel: CancelHandle,
  ): Promise<NativeEditOutcome>
  grep(request: NativeGrepRequest, rules: NativeRules, cancel: CancelHandle): Promise<NativeGrepOutcome>
  glob(request: NativeGlobRequest, rules: NativeRules, cancel: CancelHandle): Promise<NativeGlobOutcome>
  close(): void
}

export interface NativeBashRequest {
  command: string
  environment: EnvironmentOptions
  /** The host's variables, where `process.env` is not those of the process. */
  given?: Record<string, string>
  grants: Pick<NativeGrants, 'readable' | 'writable' | 'readsAll' | 'network'>
  denyRead?: string[]
  denyWrite?: string[]
  loopback?: 'private' | 'none' | 'host'
  required?: boolean
  timeoutMs: number
  headBytes: number
  sidecar?: SidecarRequest
}

export interface NativeBashOutcome extends Ended {
  stdout?: string
  stderr?: string
  exitCode?: number
  signal?: string
  timedOut: boolean
  truncated: boolean
  sidecar?: SidecarMade
  /** Why there is none although one was needed. */
  sidecarFailed?: string
  hint?: string
}

/** How a path is opened. */
export type NativeAccess = 'read' | 'write' | 'edit' | 'search' | 'workdir'

/** The functions of the addon. */
export interface ContractAddon {
  compilePolicy(request: NativePolicyRequest): { policy?: NativePolicy; error?: NativeError }
  compileRules(variables: NativeVariables, rules: NativeRule[]): { rules?: NativeRules; error?: NativeError }
  parseCommandLine(line: string): { commands: ParsedCommand[]; unparseable?: string }
  suggestPattern(line: string): string[]
  openTarget(
    policy: NativePolicy,
    path: string,
    access: NativeAccess,
    cancel: CancelHandle,
  ): Promise<Ended & { target?: NativeTarget }>
  openTargetAtOnce(policy: NativePolicy, path: string): NativeTarget | null
  contractBash(workdir: NativeTarget, request: NativeBashRequest, cancel: CancelHandle): Promise<NativeBashOutcome>
}
