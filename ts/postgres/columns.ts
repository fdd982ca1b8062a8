/** The columns of the table of calls, as statements name them. */

/** The columns of a call that begins, with the types in which they come as JSON. */
export const BEGUN_COLUMNS = [
  ['run_id', 'text'],
  ['node_id', 'text'],
  ['iteration', 'bigint'],
  ['attempt', 'bigint'],
  ['seq', 'bigint'],
  ['call_token', 'text'],
  ['tool_name', 'text'],
  ['input_json', 'text'],
  ['output_json', 'text'],
  ['started_at_ms', 'bigint'],
  ['finished_at_ms', 'bigint'],
  ['status', 'text'],
  ['error_json', 'text'],
  ['side_effect', 'bigint'],
  ['idempotent', 'bigint'],
  ['accepts_idempotency_key', 'bigint'],
  ['has_revert', 'bigint'],
  ['idempotency_key', 'text'],
  ['tw_args_hash', 'text'],
  ['tw_ordinal', 'bigint'],
  ['tw_output_bytes', 'bigint'],
  ['tw_acted', 'bigint'],
  ['tw_seen', 'text'],
] as const

/** The columns of an outcome, and what finds its row. */
export const ENDED_COLUMNS = [
  ['number', 'bigint'],
  ['owner', 'bigint'],
  ['start', 'bigint'],
  ['status', 'text'],
  ['output_json', 'text'],
  ['error_json', 'text'],
  ['finished_at_ms', 'bigint'],
  ['tw_output_bytes', 'bigint'],
  ['tw_acted', 'bigint'],
  ['tw_seen', 'text'],
  ['key_read', 'bigint'],
] as const

/**
 * The changes of an outcome, from a row `e`, which is found by its number: the time is compared so that no index leads to it.
 *
 * A known outcome is never replaced, and an unknown one by its writer alone.
 */
export const endedChanges = (e: (column: string) => string): string => `status = ${e('status')}, output_json = ${e('output_json')},
    error_json = ${e('error_json')}, finished_at_ms = ${e('finished_at_ms')}, tw_output_bytes = ${e('tw_output_bytes')},
    accepts_idempotency_key = coalesce(${e('key_read')}, c.accepts_idempotency_key),
    tw_acted = ${e('tw_acted')}, tw_seen = ${e('tw_seen')}, revert_status = CASE WHEN c.revert_status IN ('reverting', 'reverted') THEN 'revert-stale'
      ELSE c.revert_status END
  WHERE c.tw_row = ${e('number')} AND c.tw_owner = ${e('owner')} AND c.started_at_ms IS NOT DISTINCT FROM ${e('start')}
    AND c.status IN ('started', 'intended', 'unknown')`

/** The longest arguments and errors of an outline. */
const MAX_OUTLINE_BYTES = 64 << 10

/** The columns that a row of a journal is read from, of the table `c`. */
export function selectList(outline: boolean): string {
  const short = (column: string, otherwise: string): string =>
    outline ? `CASE WHEN octet_length(c.${column}) <= ${MAX_OUTLINE_BYTES} THEN c.${column} ${otherwise} END AS ${column}` : `c.${column}`
  return [
    'c.tw_row, c.run_id, c.node_id, c.iteration, c.attempt, c.seq, c.call_token, c.tool_name',
    short('input_json', ''),
    outline ? 'NULL::text AS output_json' : 'c.output_json',
    'c.started_at_ms, c.finished_at_ms, c.status',
    short('error_json', `WHEN c.error_json IS NOT NULL THEN json_build_object('message', left(c.error_json, 1000))::text`),
    'c.kind, c.side_effect, c.idempotent, c.accepts_idempotency_key, c.has_revert, c.idempotency_key, c.revert_status',
    'c.reverted_at_ms, c.revert_error_json, c.forced_past_json, c.tw_args_hash, c.tw_ordinal',
    'coalesce(c.tw_output_bytes, octet_length(c.output_json)) AS tw_output_bytes, c.tw_acted, c.tw_seen',
    'coalesce(c.tw_output_bytes > coalesce(octet_length(c.output_json), 0), false)::int AS is_cut',
  ].join(', ')
}

/** A side effect that must not be repeated blindly, of the table `c`. */
export const UNSAFE_TO_REPEAT = `(c.side_effect IS NULL OR (c.side_effect <> 0 AND coalesce(c.idempotent, 0) = 0))
    AND coalesce(c.tw_acted, 1) <> 0 AND c.revert_status IS DISTINCT FROM 'reverted'`

/** The most recent change of a call `c`. */
export const CHANGED = 'greatest(c.started_at_ms, coalesce(c.finished_at_ms, 0), coalesce(c.reverted_at_ms, 0))'

/** Whether all calls `c` of a group were over before a time. Without a call there is nothing to keep. */
export const allOver = (beforeMs: string): string => `coalesce(max(${CHANGED}) < ${beforeMs}
  AND NOT bool_or(c.status IN ('started', 'intended') OR coalesce(c.revert_status, '') = 'reverting'), true)`

/** The columns as the definition of a record. */
export const record = (columns: readonly (readonly [string, string])[]): string =>
  columns.map(([name, type]) => `${name} ${type}`).join(', ')
/** Their names, each after a prefix. */
export const names = (columns: readonly (readonly [string, string])[], prefix = ''): string =>
  columns.map(([name]) => prefix + name).join(', ')
