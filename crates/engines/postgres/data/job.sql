-- A job that makes snapshots of what this server has counted by statement: made by 'plimsoll watch job', format {format}.
-- Run it with psql in this database, as the user of the job: one with pg_read_all_stats who may make tables in the schema. Each snapshot is kept
-- {keep}; texts are kept twice as long.
BEGIN;
CREATE TABLE {snapshots} (
  {snapshot_columns},
  PRIMARY KEY (snapshot_id, edge)
);
CREATE TABLE {rows} (
  {row_columns}
);
CREATE INDEX ON {rows} (snapshot_id);
CREATE TABLE {texts} (
  {text_columns}
);
CREATE INDEX ON {texts} (database_id, query_id);
COMMENT ON TABLE {snapshots} IS {snapshots_mark};
COMMENT ON TABLE {rows} IS {rows_mark};
COMMENT ON TABLE {texts} IS {texts_mark};

CREATE FUNCTION {function}() RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $plimsoll$
DECLARE
  p_id bigint;
  p_rows bigint;
  p_old bigint;
  p_now bigint := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
BEGIN
  SELECT /* plimsoll watch */ coalesce(max(snapshot_id), 0) + 1 INTO p_id FROM {snapshots};
  -- Within a transaction the server shows the same statistics again and again, unless it is told to forget them.
  PERFORM /* plimsoll watch */ pg_stat_clear_snapshot();
  INSERT /* plimsoll watch */ INTO {snapshots} SELECT p_id, 0, {format}, {every_us}, NULL, NULL, {facts}, q.* FROM (
{stamps}) q;
  INSERT /* plimsoll watch */ INTO {rows} SELECT p_id, q.* FROM (
{counters}) q;
  GET DIAGNOSTICS p_rows = ROW_COUNT;
  PERFORM /* plimsoll watch */ pg_stat_clear_snapshot();
  INSERT /* plimsoll watch */ INTO {snapshots} SELECT p_id, 1, {format}, {every_us}, p_rows,
    current_setting('pg_stat_statements.track') <> 'none' AND current_setting('compute_query_id') <> 'off', {facts}, q.* FROM (
{stamps}) q;

  -- What is too old goes.
  SELECT /* plimsoll watch */ max(snapshot_id) INTO p_old FROM {snapshots} WHERE clock_us < p_now - {keep_us};
  DELETE /* plimsoll watch */ FROM {rows} WHERE snapshot_id <= p_old;
  DELETE /* plimsoll watch */ FROM {snapshots} WHERE snapshot_id <= p_old;
  DELETE /* plimsoll watch */ FROM {texts} WHERE taken_us < p_now - 2 * {keep_us};

  -- The server reads the file of all texts for them, so that it is asked only where one is missing. What the server leaves in a text that has no
  -- plan, as a password, is cut off.
  IF EXISTS (SELECT /* plimsoll watch */ FROM {rows} r WHERE r.snapshot_id = p_id AND r.query_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM {texts} t WHERE t.database_id = r.database_id AND t.query_id = r.query_id AND t.taken_us > p_now - {keep_us})) THEN
    BEGIN
      INSERT /* plimsoll watch */ INTO {texts} SELECT DISTINCT ON (s.dbid, s.queryid) p_now, s.dbid, s.queryid, d.datname::text,
        regexp_replace(left(s.query, {most}), $cut$('|\$[A-Za-z_]*\$).*$cut$, '?')
        FROM {extension}.pg_stat_statements(true) s LEFT JOIN pg_database d ON d.oid = s.dbid
        WHERE s.queryid IS NOT NULL AND NOT EXISTS (
        SELECT FROM {texts} t WHERE t.database_id = s.dbid AND t.query_id = s.queryid AND t.taken_us > p_now - {keep_us})
        ORDER BY s.dbid, s.queryid, s.query;
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
      -- One of a database with another encoding is no text in this one: the counts go on without texts.
      NULL;
    END;
  END IF;
  RETURN p_id;
END $plimsoll$;
REVOKE ALL ON FUNCTION {function}() FROM PUBLIC;
COMMIT;

-- Whoever reads the snapshots sees the texts of all users' statements, and needs no other right:
-- GRANT USAGE ON SCHEMA {schema} TO reader; GRANT SELECT ON {snapshots}, {rows}, {texts} TO reader;

-- Every {every} some scheduler sends this statement, with its comment, by which it is left out of what is watched. pg_cron does it so, where this
-- database is its own (cron.database_name); elsewhere use cron.schedule_in_database:
-- SELECT cron.schedule({job}, '{schedule}', 'SELECT /* plimsoll watch */ {function}()');

-- To take all of it away again:
-- SELECT cron.unschedule({job}); DROP FUNCTION {function}(); DROP TABLE {snapshots}, {rows}, {texts};
