import type * as Addon from '../../../index.js'
import { contractCodeOf } from '../../core/codes.js'
import { ToolError } from '../../core/errors.js'
import type { RecordProcess, TableEntry, UntoldEnd } from '../../core/processes/process-entry.js'
import type {
  ProcessReadArguments,
  ProcessReport,
  ProcessStopArguments,
  ProcessWriteArguments,
} from '../../core/processes/process-report.js'
import { ProcessTable } from '../../core/processes/process-table.js'
import { withUnsentLine } from '../../core/processes/process-texts.js'
import type { StartRequest } from '../../core/processes/start-request.js'
import type { Limits } from '../registry/limits.js'
import { ContractFailure } from '../registry/envelope.js'

/** How much of the limit of an output is left for what a report has besides text. */
const FRAME_BYTES = 1_000

/** The processes of one session, which end with it. */
export class SessionProcesses {
  readonly #table: ProcessTable
  readonly #record: RecordProcess

  /** @param running how many run in all sessions of the tree. */
  constructor({ processes, outputBytes }: Readonly<Limits>, running: { count: number }, record: RecordProcess) {
    this.#table = new ProcessTable({ maxRunning: processes, running, maxReportBytes: Math.max(100, outputBytes - FRAME_BYTES) })
    this.#record = record
  }

  /** Has ids begin behind those of earlier openings of the session. */
  continueAfter(count: number): void {
    this.#table.continueAfter(count)
  }

  start(request: Omit<StartRequest, 'record'>): Promise<ProcessReport> {
    return inContract(() => this.#table.start({ ...request, record: this.#record }))
  }

  /** Takes over the process that a command has become. */
  take(native: Addon.KeptProcess, request: Pick<StartRequest, 'command' | 'keep'>): Promise<TableEntry> {
    return inContract(() => this.#table.take(native, { ...request, record: this.#record }))
  }

  read(request: ProcessReadArguments, signal: AbortSignal): Promise<ProcessReport> {
    return inContract(() => this.#table.read(request, signal))
  }

  write(request: ProcessWriteArguments, signal: AbortSignal): Promise<ProcessReport> {
    return inContract(async () => withUnsentLine(request, await this.#table.write(request, signal)))
  }

  stop(request: ProcessStopArguments, signal: AbortSignal): Promise<ProcessReport> {
    return inContract(() => this.#table.stop(request, signal))
  }

  detach(processId: string, owner: string): Promise<string> {
    return this.#table.detach(processId, owner)
  }

  resume(owner: string): string[] {
    return this.#table.resume(owner)
  }

  takeEnds(): UntoldEnd[] {
    return this.#table.takeEnds()
  }

  close(): Promise<void> {
    return this.#table.close()
  }
}

/** The failures of processes in the words of envelopes, which have their code beside the text. */
async function inContract<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!ToolError.isInstance(error) || !ownCodes.has(error.code)) throw error
    const text = error.message.replace(` [${error.code}]`, (_, at: number) => (error.message[at - 1] === '.' ? '' : '.'))
    throw new ContractFailure(contractCodeOf[error.code], text, { cause: error })
  }
}

const ownCodes: ReadonlySet<string> = new Set(['INVALID_INPUT', 'PROCESS_NOT_FOUND', 'PROCESS_ENDED', 'PROCESS_BUSY', 'PROCESS_LIMIT'])
