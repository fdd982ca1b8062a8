import { endSentence, MAX_PROCESSES, ProcessTable } from '../../core/processes/process-table.js'

/** The most bytes of one report's text as JSON, in which every byte can be a control character. */
const MAX_REPORT_JSON = 700_000

/** The processes of one tool set. */
export class ToolProcesses {
  readonly table = new ProcessTable({ maxRunning: MAX_PROCESSES, maxReportBytes: MAX_REPORT_JSON })

  /** Sentences about processes that have ended since the last call, each once. */
  takeNotes(): string[] {
    return this.table.takeEnds().map((ended) => {
      void ended.record?.told()
      return endSentence(ended)
    })
  }
}
