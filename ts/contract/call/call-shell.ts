import { tellOfWritableHost } from '../../core/host-program.js'
import { noteWritablePlace } from '../../core/writable-places.js'
import type {
  CommandOutput,
  ContractBashRequest,
  ContractGrants,
  CredentialRequests,
  HostConnection,
  KeptProcess,
  LiveOutput,
  SidecarRequest,
} from '../../../index.js'
import { type KeepOptions, nativeOptions } from '../../core/kept-process.js'
import { OUTPUT_FILE_BYTES } from '../../core/processes/process-table.js'
import { goesOnNote } from '../../core/processes/process-texts.js'
import { leftRunningNote, shortTimeNote } from '../../core/text.js'
import { environmentOptions, hostVariables } from '../../core/environment.js'
import { masked } from '../../core/mask.js'
import { reachesAll } from '../../core/sandbox.js'
import { decidingUses, type RefuseUse } from '../../core/credential-uses.js'
import { type AgreeToHost, answeringHosts } from '../../core/host-questions.js'
import { hostsRequest } from '../../core/sandbox-hosts.js'
import { tellListener } from '../../core/listeners.js'
import { traceStep } from '../../core/call-channel.js'
import { type CommandMessage, programName } from '../../core/call-message.js'
import { CommandPatches, type ReportedPatch } from '../../core/command-patches.js'
import { call, isUnfinished } from '../../core/native.js'
import { changedFiles } from '../../journal/calls/patches-in-call.js'
import { failureOf, thrownText } from '../registry/envelope.js'
import type { CommandConnection, CommandRequest } from '../registry/envelope.js'
import type { CommandEnd, RuntimeShell } from '../registry/tool-runtime.js'
import type { CallScope } from './access-controller.js'
import { GRACE_MS, HANG_GRACE_MS } from './call-files.js'

export function callShell({ scope, access, tool, id, signal, onOutput, onPatches }: CallScope): RuntimeShell {
  const { directory, processes } = scope
  const { limits, shell } = scope.host
  /** Makes a command one of the session's processes. @returns a note for the model. */
  const keepRunning = async (native: KeptProcess, command: string, keep: KeepOptions, timeoutMs: number): Promise<string> => {
    try {
      const entry = await processes.take(native, { command, keep })
      return goesOnNote(entry.id, timeoutMs, scope.access.tools.has('process_read'))
    } catch (error) {
      return `The command was stopped after ${timeoutMs} ms: ${thrownText(error)}`
    }
  }
  return {
    async run(command, { workdir, timeout_ms: askedMs } = {}) {
      const requestedMs = askedMs ?? limits.commandMs
      const target = await access.command(command, workdir)
      const timeoutMs = Math.min(requestedMs, limits.maxCommandMs)
      const { request, grants } = commandRequest({ scope, access }, command, timeoutMs)
      const callLimits = { signal, timeoutMs: timeoutMs + HANG_GRACE_MS, what: 'bash', graceMs: GRACE_MS }
      const { addon } = scope.access
      using live = onOutput === undefined ? undefined : new OutputPoll(new addon.LiveOutput(), onOutput)
      const reports = new CommandPatches()
      let patches: ReportedPatch[] = []
      // A command that reaches its timeout can become a process, and is one from the start then.
      const canGoOn = tool === 'bash' && scope.host.onTimeout === 'background' && process.platform === 'linux'
      let goesOn: KeptProcess | undefined
      const fileBytes = Math.min(OUTPUT_FILE_BYTES, limits.sidecarBytes)
      const keep: KeepOptions = { input: 'empty', stderrApart: true, fileBytes, fileDirectory: directory.path }
      const runKept = async (sidecar: SidecarRequest): Promise<CommandOutput> => {
        const ended = await call(callLimits, async (_, cancel) => {
          const ran = await addon.contractBash(target, { ...request, sidecar }, cancel, live?.output, undefined, nativeOptions(keep))
          if (signal.aborted && !isUnfinished(ran)) ran.process?.kill()
          return ran
        })
        goesOn = ended.process
        return ended
      }
      const run = (sidecar: SidecarRequest): Promise<CommandOutput> =>
        canGoOn
          ? runKept(sidecar)
          : call(callLimits, (loaded, cancel) =>
              addon.contractBash(target, { ...request, sidecar }, cancel, live?.output, reports.of(loaded, [command])),
            )
      const ended = await directory
        .withSidecar(tool, id, limits.sidecarBytes, (sidecar) =>
          traceStep('command', { program: programName(shell.path ?? 'sh') }, () => run(sidecar), noteExit),
        )
        .finally(() => {
          patches = reports.take()
          if (patches.length > 0) onPatches?.(patches)
        })
      const { truncated, sidecar, sidecarLeftOut, sidecarFailed = 'it could not be kept' } = ended
      const changed_files = changedFiles(patches, scope.access.roots[0])
      const how = commandEnd(ended, grants, scope.access.tools.has('process_start'))
      const end = { ...how, ...(changed_files.length > 0 && { changed_files }) }
      const short = end.timed_out && askedMs !== undefined ? shortTimeNote(timeoutMs, 'timeout_ms') : undefined
      if (short !== undefined && goesOn === undefined) end.notes = [short, ...(end.notes ?? [])]
      if (goesOn !== undefined) end.notes = [await keepRunning(goesOn, command, keep, timeoutMs), ...(end.notes ?? [])]
      if (sidecar === undefined)
        return truncated ? { ...end, head: `${end.stdout}${end.stderr}\n[The rest is lost: ${sidecarFailed}]` } : end
      // All of it is there, and it is the bytes that are too many.
      if (!truncated) return { ...end, unkept_bytes: sidecarLeftOut, output_path: sidecar }
      // The file holds both outputs in order of arrival. They can no longer be separated.
      const ends = await directory.ends(sidecar, limits.bashBytes, (bytes) => addon.screenText(bytes))
      if (sidecarLeftOut === 0 || ends.left_out_bytes === undefined) return { ...end, ...ends, output_path: sidecar }
      const left_out_bytes = ends.left_out_bytes + sidecarLeftOut
      return { ...end, ...ends, left_out_bytes, unkept_bytes: sidecarLeftOut, output_path: sidecar }
    },
  }
}

/** A command line with its whole access, the same for a command that is awaited and for a long-running one. */
export function commandRequest(
  { scope, access }: Pick<CallScope, 'scope' | 'access'>,
  command: string,
  timeoutMs: number,
): { request: Omit<ContractBashRequest, 'sidecar'>; grants: ContractGrants } {
  const { directory, scratch } = scope
  const { limits, sandbox, mask, shell } = scope.host
  const { denyWrite } = sandbox
  const grants = access.policy.processGrants()
  const { readable, writable, linkedNames, readsAll, network } = grants
  for (const path of writable) {
    // Before the command begins, the call that runs it loads what would be loaded late.
    noteWritablePlace(path)
    tellOfWritableHost(path, denyWrite === undefined ? {} : { denyWrite })
  }
  const { denyRead = [], git, network: hosts, loopback, required } = sandbox
  const request = {
    command,
    bash: shell.path,
    environment: environmentOptions(sandbox.env, reachesAll(sandbox, network)),
    ...masked(mask),
    hostEnv: hostVariables(),
    // Long outputs are in the session's directory.
    grants: { readable: [...readable, directory.path], writable: [...writable, scratch], linkedNames, readsAll, network },
    // The directories of other sessions stay closed.
    denyRead: [...denyRead, directory.base],
    denyWrite,
    git,
    names: hosts && hostsRequest(hosts, answeringHosts(agreesToHost(access)), decidingUses(refusesUse(access))),
    loopback,
    required,
    startsProcesses: scope.access.tools.has('process_start'),
    timeoutMs,
    headBytes: limits.bashBytes,
  } as Omit<ContractBashRequest, 'sidecar'>
  return { request, grants }
}

/** Asks the rules and the user about a host. */
function agreesToHost(access: CallScope['access']): AgreeToHost {
  return async (host, port, signal) => {
    try {
      await access.reachFromCommand(host, port, signal)
      return true
    } catch (error) {
      return isNo(error) ? false : undefined
    }
  }
}

/** Asks the rules and the user about a use of a credential. */
function refusesUse(access: CallScope['access']): RefuseUse {
  return async (use) => {
    try {
      await access.useCredential(use)
      return undefined
    } catch (error) {
      return failureOf(error).text
    }
  }
}

const isNo = (error: unknown): boolean => ['capability_refused', 'permission_denied', 'permission_rejected'].includes(failureOf(error).code)

/** The interval at which watchers of a command get its output, in milliseconds. */
const OUTPUT_MS = 100

/** Looks for new output of a command until it has ended, and a last time then. */
class OutputPoll implements Disposable {
  readonly output: LiveOutput
  readonly #onOutput: (text: string) => void
  readonly #timer: NodeJS.Timeout

  constructor(output: LiveOutput, onOutput: (text: string) => void) {
    this.output = output
    this.#onOutput = onOutput
    this.#timer = setInterval(() => this.#look(), OUTPUT_MS)
  }

  #look(): void {
    const text = this.output.take()
    if (text !== '') tellListener('onOutput', () => this.#onOutput(text))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#look()
  }
}

function noteExit(message: CommandMessage, ended: CommandOutput | undefined): void {
  if (ended === undefined) return
  const { exitCode = null, timedOut } = ended
  message.exitCode = exitCode
  if (timedOut) message.timedOut = true
  message.call?.commandEnded(exitCode)
  message.call?.noteCommand(ended)
}

function commandEnd(ended: CommandOutput, grants: ContractGrants, canStart: boolean): CommandEnd {
  const { stdout, stderr, exitCode = null, signal = null, timedOut } = ended
  const leftovers = leftRunningNote(ended.leftRunning, canStart)
  const notes = [...refusalNotes(ended, grants), ...ended.notes, ...(leftovers === undefined ? [] : [leftovers])]
  const { connections, denials, masked: secrets } = ended
  return {
    stdout,
    stderr,
    exit_code: exitCode,
    signal,
    timed_out: timedOut,
    ...(notes.length > 0 && { notes }),
    ...(connections.length > 0 && { connections: connections.map(connectionRow) }),
    ...(denials.length > 0 && { denials: denials.map(({ layer, subject, option = null }) => ({ layer, subject, option })) }),
    ...(secrets.length > 0 && { masked: secrets }),
  }
}

const connectionRow = ({ host, port, verdict, count, sentBytes, receivedBytes, requests }: HostConnection): CommandConnection => ({
  host,
  ...(port !== undefined && { port }),
  verdict,
  count,
  ...(sentBytes !== undefined && { sent_bytes: sentBytes }),
  ...(receivedBytes !== undefined && { received_bytes: receivedBytes }),
  ...(requests !== undefined && { requests: requests.map(requestRow) }),
})

const requestRow = ({
  credential,
  method,
  path,
  status,
  refused,
  count,
  sentBytes,
  receivedBytes,
}: CredentialRequests): CommandRequest => ({
  credential,
  method,
  path,
  ...(status !== undefined && { status }),
  ...(refused !== undefined && { refused }),
  count,
  sent_bytes: sentBytes,
  received_bytes: receivedBytes,
})

/** Notes about restrictions of the session that may explain a failure. */
function refusalNotes({ exitCode, hint }: Pick<CommandOutput, 'exitCode' | 'hint'>, grants: ContractGrants): string[] {
  const { notGranted = [], readable, writable, readsAll } = grants
  if (exitCode === 0) return []
  const nowhere = !readsAll && readable.length === 0 && writable.length === 0
  const notes = [
    ...(hint === undefined ? [] : [hint]),
    ...(nowhere ? ['No directory is granted to commands here, so this one ran in /.'] : []),
  ]
  if (notGranted.length === 0) return notes
  return [...notes, `A process cannot be granted ${notGranted.join(', ')}: only whole directories, and the network as a whole.`]
}
