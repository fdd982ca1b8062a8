import type { KeepOptions } from '../../core/kept-process.js'
import type { ProcessReport } from '../../core/processes/process-report.js'
import { OUTPUT_FILE_BYTES } from '../../core/processes/process-table.js'
import { terminalVariables } from '../../core/environment.js'
import { traceStep } from '../../core/call-channel.js'
import { programName } from '../../core/call-message.js'
import type { RuntimeProcesses } from '../registry/tool-runtime.js'
import type { CallScope } from './access-controller.js'
import { commandRequest } from './call-shell.js'

export function callProcesses({ scope, access, id, tool, signal }: CallScope): RuntimeProcesses {
  const { directory, processes } = scope
  const { limits, shell } = scope.host
  return {
    async start(command, { workdir, terminal = false, wait_ms: waitMs } = {}) {
      const target = await access.command(command, workdir)
      const { request } = commandRequest({ scope, access }, command, limits.maxCommandMs)
      const fileBytes = Math.min(OUTPUT_FILE_BYTES, limits.sidecarBytes)
      const keep: KeepOptions = { input: terminal ? 'terminal' : 'pipe', fileBytes, fileDirectory: directory.path }
      const start = (extraEnv: Record<string, string> | undefined): Promise<ProcessReport> =>
        directory.withSidecar(tool, id, 0, (sidecar) =>
          processes.start({
            command,
            keep,
            waitMs,
            signal,
            start: (addon, options, cancel) =>
              addon.contractStartProcess(target, { ...request, sidecar, ...(extraEnv === undefined ? {} : { extraEnv }) }, options, cancel),
          }),
        )
      return traceStep('command', { program: programName(shell.path ?? 'sh') }, () => start(terminal ? terminalVariables() : undefined))
    },
    read: (request) => processes.read(request, signal),
    async write(request) {
      const { process_id, text = '', secret = false } = request
      await access.input(process_id, text, secret)
      return processes.write(request, signal)
    },
    stop: (request) => processes.stop(request, signal),
  }
}
