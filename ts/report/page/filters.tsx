import { useMemo } from 'preact/hooks'
import type { CallEnding, ReportCall } from '../report-data.js'
import { selectCalls, type Selection } from './selection.js'
import { endingNames, endings } from './words.js'

interface Props {
  calls: readonly ReportCall[]
  shown: readonly ReportCall[]
  selection: Selection
  change(part: Partial<Selection>): void
}

/** What narrows the calls: words, a run, a tool, an ending. */
export function Filters({ calls, shown, selection, change }: Props) {
  const runs = useMemo(() => unique(calls.map(({ runId }) => runId)), [calls])
  const tools = useMemo(() => unique(calls.map(({ tool }) => tool)).sort(), [calls])
  const withoutEnding = useMemo(() => selectCalls(calls, { ...selection, ending: null }), [calls, selection])
  const count = (ending: CallEnding): number => withoutEnding.filter((call) => call.ending === ending).length
  const { call: _call, text, ...chosen } = selection
  const isNarrowed = text !== '' || Object.values(chosen).some((value) => value !== null)
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        Search
        <input
          type="search"
          value={selection.text}
          placeholder="a path, a command, an error"
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
      </label>
      {runs.length > 1 && <Choice name="Run" all="All runs" values={runs} chosen={selection.run} choose={(run) => change({ run })} />}
      <Choice name="Tool" all="All tools" values={tools} chosen={selection.tool} choose={(tool) => change({ tool })} />
      <fieldset>
        <legend>Ended</legend>
        {endingNames.map((ending) => (
          <button
            key={ending}
            type="button"
            class={`chip ${ending}`}
            aria-pressed={selection.ending === ending}
            disabled={count(ending) === 0 && selection.ending !== ending}
            onClick={() => change({ ending: selection.ending === ending ? null : ending })}
          >
            <span aria-hidden="true">{endings[ending].sign}</span> {endings[ending].label} {count(ending).toLocaleString()}
          </button>
        ))}
      </fieldset>
      <output aria-live="polite">
        {isNarrowed ? `${shown.length.toLocaleString()} of ${calls.length.toLocaleString()} calls` : ''}
        {isNarrowed && (
          <button
            type="button"
            onClick={() => change({ run: null, tool: null, ending: null, file: null, refused: null, node: null, text: '' })}
          >
            Show all
          </button>
        )}
      </output>
    </form>
  )
}

interface ChoiceProps {
  name: string
  all: string
  values: readonly string[]
  chosen: string | null
  choose(value: string | null): void
}

const Choice = ({ name, all, values, chosen, choose }: ChoiceProps) => (
  <label>
    {name}
    <select value={chosen ?? ''} onChange={({ currentTarget: { value } }) => choose(value === '' ? null : value)}>
      <option value="">{all}</option>
      {values.map((value) => (
        <option key={value} value={value}>
          {value}
        </option>
      ))}
    </select>
  </label>
)

const unique = (values: readonly string[]): string[] => [...new Set(values)]
