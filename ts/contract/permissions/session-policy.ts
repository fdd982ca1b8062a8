/** The capabilities of a session, which the addon enforces. */
import type * as Addon from '../../../index.js'
import type {
  ContractBashOutcome,
  ContractBashRequest,
  ContractGrants,
  ContractPolicy,
  ContractPolicyRequest,
  NativeError,
  OpenedTarget,
} from '../../../index.js'
import { boundedPath } from '../../core/text.js'
import { ToolError } from '../../core/errors.js'
import { call, type CallLimits, isUnfinished, nativeAddon, tryNowait, unwrap } from '../../core/native.js'
import type { FileAccess } from '../registry/contract-tool.js'
import type { RequirementSet } from '../registry/requirements.js'

/** The functions of the addon that sessions use. */
export type ContractAddon = Pick<
  typeof Addon,
  | 'compilePolicy'
  | 'compileRules'
  | 'decideCall'
  | 'parseCommandLine'
  | 'suggestPattern'
  | 'bashOnlySyntax'
  | 'openTarget'
  | 'tryOpenTargetCached'
  | 'contractBash'
  | 'processName'
  | 'removeDirectory'
  | 'removeAbandoned'
  | 'removeNow'
>

/**
 * Loads the addon.
 *
 * @throws {ToolError} NATIVE_UNAVAILABLE, also for an addon of another version.
 */
export async function loadContractAddon(): Promise<ContractAddon> {
  const addon: ContractAddon = await nativeAddon()
  if (typeof addon.compilePolicy === 'function') return addon
  throw new ToolError({
    code: 'NATIVE_UNAVAILABLE',
    summary: 'The native part of toolwright is of another version',
    hint: 'Install again; in a checkout, run `npm run build`.',
  })
}

function refuse(error: NativeError | null): void {
  if (error) unwrap({ error })
}

/** The time limit for opening a target and checking it. */
const OPEN_MS = 30_000

/** The compiled capabilities of a session. */
export class SessionPolicy {
  readonly addon: ContractAddon
  readonly #native: ContractPolicy
  #grants: ContractGrants | undefined

  /**
   * Compiles the requested capabilities, within those of the parent.
   *
   * @throws {ToolError} TOOL_ROOT_CHANGED, and CONTRACT_MANIFEST_INVALID with the place of the problem.
   */
  constructor(addon: ContractAddon, request: ContractPolicyRequest | ContractPolicy, parent?: SessionPolicy) {
    this.addon = addon
    this.#native = 'variables' in request ? unwrap(addon.compilePolicy(request, parent && parent.#native)) : request
  }

  /** The same policy with other directories for `{ad-hoc}`. Nothing else is resolved again. */
  withAdHoc(directories: readonly string[], parent: SessionPolicy | undefined): SessionPolicy {
    return new SessionPolicy(this.addon, unwrap(this.#native.withAdHoc([...directories], parent && parent.#native)))
  }

  /** The sets with their variables expanded, in the order of the request. */
  expanded(): RequirementSet[] {
    return this.#native.expanded() as RequirementSet[]
  }

  /** The grants for processes of the session. */
  get grants(): ContractGrants {
    return (this.#grants ??= this.#native.processGrants())
  }

  /** @throws {ToolError} CAPABILITY_DENIED */
  checkCommand(line: string, shell: 'bash' | undefined): void {
    refuse(this.#native.checkCommand(line, shell))
  }

  /** @throws {ToolError} CAPABILITY_DENIED */
  checkHost(host: string, port?: number): void {
    refuse(port === undefined ? this.#native.checkHost(host) : this.#native.checkHost(host, port))
  }

  /** @throws {ToolError} CAPABILITY_DENIED */
  checkCapability(name: string): void {
    refuse(this.#native.checkCapability(name))
  }

  /**
   * Opens a path, and checks the opened file.
   *
   * @throws {ToolError} CAPABILITY_DENIED, TOOL_FILE_NOT_FOUND and others.
   */
  async open(given: string, access: FileAccess | 'workdir', signal: AbortSignal): Promise<OpenedTarget> {
    const path = boundedPath(given)
    if (access === 'read') {
      const seen = tryNowait(signal, () => this.addon.tryOpenTargetCached(this.#native, path))
      if (seen !== undefined) return seen
    }
    const limits: CallLimits = { signal, timeoutMs: OPEN_MS, what: `open ${path}` }
    return call(limits, async (_, cancel) => {
      const opened = await this.addon.openTarget(this.#native, path, access, cancel)
      // After an abort nothing else would close it.
      if (signal.aborted && !isUnfinished(opened)) opened.close()
      return opened
    })
  }

  /** Runs a command line in an opened directory. */
  bash(workdir: OpenedTarget, request: ContractBashRequest, limits: CallLimits): Promise<Omit<ContractBashOutcome, 'cancelled' | 'error'>> {
    return call(limits, (_, cancel) => this.addon.contractBash(workdir, request, cancel))
  }
}
