/** The function that removes runs. */
import { allOver, CHANGED } from './columns.js'

/** The most runs that are looked at together. */
const MOST_RUNS = 64

/**
 * Removes runs that are over, until there are enough rows of one transaction. Few runs are looked at first, and twice as many each time: a
 * statement for each run costs more than what it removes where runs are small, and large ones must not be counted for nothing. Of a run that
 * is larger than a transaction, a part is removed.
 *
 * @param hold keeps partitions from being detached
 * @param ofDay what leads to the partition of a day, if there are any
 */
export function removeStatement(t: string, isByDay: boolean, hold: string, ofDay: (table: string, day: string) => string): string {
  const calls = `${t}._smithers_tool_calls`
  const removable = `${CHANGED} < a_before AND c.status NOT IN ('started', 'intended')`
  // Runs of the same day are looked at together.
  const sameDay = isByDay
    ? `v_day := ${t}._toolwright_known_day(v_runs[1]);
    SELECT v_runs[1:coalesce(min(u.place) - 1, cardinality(v_runs))] INTO v_runs FROM unnest(v_runs) WITH ORDINALITY AS u(run, place)
      LEFT JOIN ${t}._toolwright_run_days r ON r.run_id = u.run WHERE r.tw_day IS DISTINCT FROM v_day;`
    : ''
  return `CREATE OR REPLACE FUNCTION ${t}._toolwright_remove(a_runs text[], a_before float8, a_limit bigint)
RETURNS TABLE (removed bigint, done int) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan SET jit = off AS $fn$
DECLARE v_runs text[]; v_over text[]; v_fit int; v_size int := 1; v_count bigint;${isByDay ? ' v_day date;' : ''}
BEGIN
  ${hold}
  removed := 0; done := 0;
  WHILE done < cardinality(a_runs) AND removed < a_limit LOOP
    v_runs := a_runs[done + 1:done + v_size];
    ${sameDay}
    SELECT array_agg(n.run ORDER BY n.place) FILTER (WHERE n.is_over AND n.upto <= a_limit - removed), count(*) FILTER (WHERE n.upto <= a_limit - removed)
    INTO v_over, v_fit FROM (
      SELECT u.run, u.place, coalesce(g.is_over, false) AS is_over,
        sum(CASE WHEN g.is_over THEN g.count ELSE 0 END) OVER (ORDER BY u.place) AS upto
      FROM unnest(v_runs) WITH ORDINALITY AS u(run, place) LEFT JOIN (
        SELECT c.run_id, count(*), ${allOver('a_before')} AS is_over FROM ${calls} c WHERE c.run_id = ANY (v_runs)${ofDay('c', 'v_day')} GROUP BY c.run_id
      ) g ON g.run_id = u.run) n;
    IF v_fit = 0 THEN
      -- The rest of a large run is the next transaction's.
      EXIT WHEN removed > 0;
      DELETE FROM ${calls} c WHERE c.run_id = v_runs[1]${ofDay('c', 'v_day')} AND ${removable} AND c.tw_row IN (
        SELECT x.tw_row FROM ${calls} x WHERE x.run_id = v_runs[1]${ofDay('x', 'v_day')} ORDER BY x.tw_row LIMIT a_limit);
      GET DIAGNOSTICS v_count = ROW_COUNT;
      removed := v_count;
      -- Somebody went on with it.
      IF v_count = 0 THEN done := 1; END IF;
      EXIT;
    END IF;
    DELETE FROM ${calls} c WHERE c.run_id = ANY (v_over)${ofDay('c', 'v_day')} AND ${removable};
    GET DIAGNOSTICS v_count = ROW_COUNT;
    removed := removed + v_count;
    done := done + v_fit;
    EXIT WHEN v_fit < cardinality(v_runs);
    v_size := least(2 * v_size, ${MOST_RUNS});
  END LOOP;
  RETURN NEXT;
END $fn$`
}
