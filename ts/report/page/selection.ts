/** The filter and the open call. The address of the page has both, so a link leads to the same view. */
import { endingNames } from './words.js'
import type { CallEnding, ReportCall } from '../report-data.js'

/** The reader's choice. */
export interface Selection {
  run: string | null
  tool: string | null
  ending: CallEnding | null
  text: string
  /** A file that calls have changed. */
  file: string | null
  /** Something that calls were refused. */
  refused: string | null
  /** The node of a task or an agent. */
  node: string | null
  /** The row of the open call. `null`: none was chosen yet; 0: it was closed. */
  call: number | null
}

/** Parses the selection in an address: `#run=…&tool=…&ending=…&file=…&refused=…&node=…&q=…&call=…`. */
export function readSelection(hash: string): Selection {
  const values = new URLSearchParams(hash.replace(/^#/u, ''))
  const ending = values.get('ending') as CallEnding | null
  const call = Number(values.get('call') ?? Number.NaN)
  return {
    run: values.get('run'),
    tool: values.get('tool'),
    ending: ending !== null && endingNames.includes(ending) ? ending : null,
    file: values.get('file'),
    refused: values.get('refused'),
    node: values.get('node'),
    text: values.get('q') ?? '',
    call: Number.isSafeInteger(call) ? call : null,
  }
}

/** The address of a selection. */
export function selectionHash({ run, tool, ending, file, refused, node, text, call }: Selection): string {
  const values = new URLSearchParams()
  if (run !== null) values.set('run', run)
  if (tool !== null) values.set('tool', tool)
  if (ending !== null) values.set('ending', ending)
  if (file !== null) values.set('file', file)
  if (refused !== null) values.set('refused', refused)
  if (node !== null) values.set('node', node)
  if (text !== '') values.set('q', text)
  if (call !== null) values.set('call', String(call))
  return `#${values.toString()}`
}

/** The calls that match a selection. Every word of its text has to occur in a call. */
export function selectCalls(calls: readonly ReportCall[], selection: Selection): ReportCall[] {
  const { run, tool, ending, file, refused, node, text } = selection
  const words = text.toLowerCase().split(/\s+/u).filter(Boolean)
  return calls.filter((call) => {
    if (run !== null && call.runId !== run) return false
    if (tool !== null && call.tool !== tool) return false
    if (ending !== null && call.ending !== ending) return false
    if (node !== null && call.nodeId !== node) return false
    if (file !== null && !call.changes.some(({ path }) => path === file)) return false
    if (refused !== null && !call.refusals.some(({ subject }) => subject === refused)) return false
    if (words.length === 0) return true
    const searched = [call.tool, call.target, call.reason, call.nodeId, call.agent ?? '', call.runId, call.callToken ?? '']
      .join('\n')
      .toLowerCase()
    return words.every((word) => searched.includes(word))
  })
}
