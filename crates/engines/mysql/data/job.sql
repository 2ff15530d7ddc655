-- A job that makes snapshots of what this server has counted by statement: made by 'plimsoll watch job', format {format}.
-- Run it with the server's own client, as the user of the job: one with SELECT on performance_schema, and EVENT, CREATE, INSERT, SELECT and DELETE
-- in this database. Each snapshot is kept {keep}; texts are kept twice as long.
-- The event scheduler runs it. Set event_scheduler = ON in the server's option file as well:
-- SET GLOBAL event_scheduler = ON;
CREATE TABLE {snapshots} (
  {snapshot_columns},
  PRIMARY KEY (`snapshot_id`, `edge`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT = {snapshots_mark};
CREATE TABLE {rows} (
  {row_columns},
  KEY (`snapshot_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT = {rows_mark};
CREATE TABLE {texts} (
  {text_columns},
  KEY (`digest`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT = {texts_mark};

-- The event has the time zone of the session that makes it. A name in each statement says that it is ours. What the event took itself is in the
-- server's sum of all statements and in no row: it is left out of the sum.
SET time_zone = '+00:00';
DELIMITER //
CREATE EVENT {event} ON SCHEDULE EVERY {every_s} SECOND STARTS '2000-01-01 00:00:00' ON COMPLETION PRESERVE DO
BEGIN
  DECLARE p_id BIGINT;
  DECLARE p_rows BIGINT;
  DECLARE p_old BIGINT;
  DECLARE p_now BIGINT DEFAULT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED);
  SELECT COALESCE(MAX(`snapshot_id`), 0) + 1 AS `plimsoll watch` INTO p_id FROM {snapshots};
  -- One that is still at work has this number as well: then this one ends here.
  INSERT INTO {snapshots} SELECT p_id, 0, {format}, {every_us}, NULL, NULL, `i`.`identity`, {stamp_columns} FROM (
{stamps}) `q` JOIN (
{identity}) `i`;
  INSERT INTO {rows} SELECT p_id, `q`.* FROM (
{counters}) `q`;
  SET p_rows = ROW_COUNT();
  INSERT INTO {snapshots} SELECT p_id, 1, {format}, {every_us}, p_rows, (
    SELECT `f`.`plimsoll watch` = 1 AND `f`.`consumers` >= {consumers} AND `f`.`instruments` > 0 AND `f`.`actors` > 0 AND `f`.`left` = 0
    AND `f`.`unseen` = 0 AND `f`.`off` = 0 FROM (
{statistics}) `f`), `i`.`identity`, {stamp_columns} FROM (
{stamps}) `q` JOIN (
{identity}) `i`;

  -- What is too old goes.
  SELECT MAX(`snapshot_id`) AS `plimsoll watch` INTO p_old FROM {snapshots} WHERE `clock_us` < p_now - {keep_us};
  DELETE FROM {rows} WHERE `snapshot_id` <= (SELECT p_old AS `plimsoll watch`);
  DELETE FROM {snapshots} WHERE `snapshot_id` <= (SELECT p_old AS `plimsoll watch`);
  DELETE FROM {texts} WHERE `taken_us` < (SELECT p_now AS `plimsoll watch`) - 2 * {keep_us};

  INSERT INTO {texts} SELECT p_now AS `plimsoll watch`, `d`.`SCHEMA_NAME`, `d`.`DIGEST`, LEFT(`d`.`DIGEST_TEXT`, {most})
    FROM `performance_schema`.`events_statements_summary_by_digest` `d` WHERE `d`.`COUNT_STAR` > 0 AND `d`.`DIGEST` IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM {texts} `t` WHERE `t`.`digest` = `d`.`DIGEST` AND `t`.`schema_name` <=> `d`.`SCHEMA_NAME`
    AND `t`.`taken_us` > p_now - {keep_us});
END//
DELIMITER ;

-- Whoever reads the snapshots sees the texts of all users' statements, and needs no other right:
-- GRANT SELECT ON {snapshots} TO reader; GRANT SELECT ON {rows} TO reader; GRANT SELECT ON {texts} TO reader;

-- To take all of it away again:
-- DROP EVENT {event}; DROP TABLE {snapshots}, {rows}, {texts};
