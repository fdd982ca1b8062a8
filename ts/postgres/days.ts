/**
 * A table of calls in partitions, one for each day. A run belongs to the day on which it began, however long it takes: so all that
 * has to be unique stays within one partition, and whoever knows the run knows the partition.
 */

/** How the calls are kept: in one table, or in one with a partition for each day. */
export type Layout = 'table' | 'days'

/** The day of all runs that a table had before it was partitioned. */
export const FIRST_DAY = '2000-01-01'

/** How many days have their partitions ahead. */
export const DAYS_AHEAD = 7

/** A table of before as the partition of {@link FIRST_DAY}. Its rows stay where they are; its indexes are made anew. */
export function conversionStatement(t: string, s: string, columns: readonly string[]): string {
  const calls = `${t}._smithers_tool_calls`
  return `DO $convert$ DECLARE v_index text; BEGIN
IF NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('${s}._smithers_tool_calls') AND relkind = 'r') THEN RETURN; END IF;
${columns.map((column) => `ALTER TABLE ${calls} ADD COLUMN IF NOT EXISTS ${column};`).join('\n')}
FOR v_index IN SELECT conname FROM pg_constraint WHERE conrelid = '${s}._smithers_tool_calls'::regclass AND contype IN ('p', 'u') LOOP
  EXECUTE format('ALTER TABLE ${t.replaceAll("'", "''").replaceAll('%', '%%')}._smithers_tool_calls DROP CONSTRAINT %I', v_index);
END LOOP;
FOR v_index IN SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = '${s}._smithers_tool_calls'::regclass LOOP
  EXECUTE 'DROP INDEX ' || v_index;
END LOOP;
ALTER TABLE ${calls} ADD COLUMN IF NOT EXISTS tw_day DATE NOT NULL DEFAULT DATE '${FIRST_DAY}';
ALTER TABLE ${calls} RENAME TO ${partitionOf(FIRST_DAY)};
END $convert$`
}

/** The tables beside the partitioned one, and the table of before as its first partition. */
export function dayStatements(t: string, s: string): string[] {
  const [calls, before] = [`${t}._smithers_tool_calls`, partitionOf(FIRST_DAY)]
  return [
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_days (day DATE PRIMARY KEY, is_closing BOOLEAN NOT NULL DEFAULT false)`,
    `CREATE TABLE IF NOT EXISTS ${t}._toolwright_run_days (run_id TEXT PRIMARY KEY, tw_day DATE NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS _toolwright_run_days_idx ON ${t}._toolwright_run_days (tw_day)`,
    `DO $attach$ BEGIN
IF to_regclass('${s}.${before}') IS NULL OR EXISTS (SELECT 1 FROM ${t}._toolwright_days WHERE day = '${FIRST_DAY}') THEN RETURN; END IF;
ALTER TABLE ${calls} ATTACH PARTITION ${t}.${before} FOR VALUES FROM ('${FIRST_DAY}') TO (DATE '${FIRST_DAY}' + 1);
INSERT INTO ${t}._toolwright_run_days SELECT DISTINCT run_id, DATE '${FIRST_DAY}' FROM ${t}.${before};
INSERT INTO ${t}._toolwright_days VALUES ('${FIRST_DAY}');
END $attach$`,
  ]
}

/** The functions that only a partitioned table has. */
export function dayFunctions(t: string, lock: number): string[] {
  const calls = `${t}._smithers_tool_calls`
  const [days, runDays] = [`${t}._toolwright_days`, `${t}._toolwright_run_days`]
  const name = `_smithers_tool_calls_' || to_char(v_day, 'YYYYMMDD')`
  return [
    // The day of a run, if it has begun. What looks for its calls must not look while they are between two places.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_known_day(a_run text) RETURNS date LANGUAGE plpgsql AS $fn$
DECLARE v_day date; v_closing boolean;
BEGIN
  SELECT r.tw_day, d.is_closing INTO v_day, v_closing FROM ${runDays} r LEFT JOIN ${days} d ON d.day = r.tw_day WHERE r.run_id = a_run;
  IF v_closing THEN RAISE EXCEPTION 'toolwright: the day of the run is being removed' USING ERRCODE = 'TW002'; END IF;
  RETURN v_day;
END $fn$`,
    // The same, and for a run that is new the newest day that has a partition. So nothing fails where nobody makes partitions.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_day(a_run text) RETURNS date LANGUAGE plpgsql AS $fn$
DECLARE v_day date;
BEGIN
  LOOP
    v_day := ${t}._toolwright_known_day(a_run);
    IF v_day IS NOT NULL THEN RETURN v_day; END IF;
    INSERT INTO ${runDays} SELECT a_run, coalesce(max(d.day) FILTER (WHERE d.day <= (clock_timestamp() AT TIME ZONE 'UTC')::date), min(d.day))
      FROM ${days} d WHERE NOT d.is_closing ON CONFLICT DO NOTHING;
  END LOOP;
END $fn$`,
    // Attaching a table takes a lock that nobody who reads or records waits for.
    `CREATE OR REPLACE FUNCTION ${t}._toolwright_make_days(a_ahead int) RETURNS int LANGUAGE plpgsql AS $fn$
DECLARE v_day date; v_made int := 0; v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
BEGIN
  PERFORM pg_advisory_xact_lock(${lock});
  FOR v_day IN SELECT v_today + i FROM generate_series(0, a_ahead) i LOOP
    CONTINUE WHEN EXISTS (SELECT 1 FROM ${days} d WHERE d.day = v_day);
    EXECUTE 'CREATE TABLE ${t.replaceAll("'", "''")}.${name} || ' (LIKE ${calls.replaceAll("'", "''")} INCLUDING DEFAULTS) WITH (fillfactor = 70)';
    EXECUTE 'ALTER TABLE ${calls.replaceAll("'", "''")} ATTACH PARTITION ${t.replaceAll("'", "''")}.${name}
      || format(' FOR VALUES FROM (%L) TO (%L)', v_day, v_day + 1);
    INSERT INTO ${days} VALUES (v_day);
    v_made := v_made + 1;
  END LOOP;
  RETURN v_made;
END $fn$`,
  ]
}

/** The name of the partition of a day, `YYYY-MM-DD`. */
export const partitionOf = (day: string): string => `_smithers_tool_calls_${day.replaceAll('-', '')}`
