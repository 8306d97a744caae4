-- SPDX-License-Identifier: MIT
-- Tables for ClickHouse, into which `bytepoll push --to clickhouse://HOST:8123/DATABASE` puts recordings, and views and
-- functions for people who ask ClickHouse themselves (docs/fleet.md):
--
--     clickhouse-client --query 'CREATE DATABASE bytepoll'
--     clickhouse-client --database bytepoll --multiquery < clickhouse.sql
--     SELECT * FROM bytepoll.bytepoll_top WHERE service = 'shop' LIMIT 20
--
-- Every table has the columns that docs/parquet-format.md describes. `push` is added: an id of its own for every attempt to
-- push a run, by which rows of different attempts never mix. An attempt that was cut short leaves rows, which nothing
-- reads. Rows of `processes` come last, and `push_rows` says how many of them there must be: only with all of them the
-- attempt counts, and of several of the same run the one with the smallest id. So a run counts once, whatever happens,
-- and nothing depends on times, on merges or on what the server remembers of earlier inserts. Ids of runs that go on
-- begin with `r` and the seconds left until 9999999999: the newest is the smallest, and greater than that of a run that ended.
-- Those of sums, which `bytepoll compact` makes, begin with `+`, smaller than all digits, and the same seconds: a sum has all
-- runs of the attempts that it stands for. A `push_rows` of -1 marks what is being removed.
--
-- The file may be run again. Functions belong to the whole server.

CREATE TABLE IF NOT EXISTS samples (
    `process` String, `thread` Int64, `time_ns` Int64, `freed_ns` Nullable(Int64), `live` Bool, `temporary` Bool,
    `size` Int64, `usable` Nullable(Int64), `interval` Int64, `charge` Int64, `law` String, `exact` Bool,
    `kind` String, `type` Nullable(String), `labels` Nullable(String), `stack` Int64, `samples` Int64, `push` String)
  ENGINE = MergeTree ORDER BY (push, process, stack, size);

CREATE TABLE IF NOT EXISTS stacks (
    `stack` Int64, `position` Int64, `frame` Int64, `flags` Int64, `push` String)
  ENGINE = MergeTree ORDER BY (push, stack, position);

CREATE TABLE IF NOT EXISTS frames (
    `frame` Int64, `function` String, `system_name` Nullable(String), `file` Nullable(String), `line` Nullable(Int64),
    `module` Nullable(String), `build_id` Nullable(String), `address` Int64, `named` Bool, `inlined` Bool,
    `python` Bool, `push` String)
  ENGINE = MergeTree ORDER BY (push, frame);

CREATE TABLE IF NOT EXISTS threads (
    `process` String, `thread` Int64, `ordinal` Int64, `tid` Int64, `name` String, `allocated_bytes` Int64,
    `allocated_bytes_high` Nullable(Int64), `allocated_objects` Int64, `allocated_objects_high` Nullable(Int64),
    `lost` Int64, `push` String)
  ENGINE = MergeTree ORDER BY (push, process, thread);

CREATE TABLE IF NOT EXISTS counters (
    `process` String, `time_ns` Int64, `allocated_bytes` Int64, `allocated_bytes_high` Nullable(Int64),
    `allocated_objects` Int64, `allocated_objects_high` Nullable(Int64), `push` String)
  ENGINE = MergeTree ORDER BY (push, process, time_ns);

CREATE TABLE IF NOT EXISTS readings (
    `process` String, `thread` Int64, `time_ns` Int64, `bound` Int64, `allocated_bytes` Int64,
    `allocated_objects` Int64, `push` String)
  ENGINE = MergeTree ORDER BY (push, process, thread, time_ns);

CREATE TABLE IF NOT EXISTS intervals (
    `process` String, `interval` Int64, `trials` Nullable(Int64), `push` String)
  ENGINE = MergeTree ORDER BY (push, process);

CREATE TABLE IF NOT EXISTS pauses (
    `process` String, `from_ns` Int64, `to_ns` Nullable(Int64), `outage` Bool, `push` String)
  ENGINE = MergeTree ORDER BY (push, process);

CREATE TABLE IF NOT EXISTS processes (
    `process` String, `run` String, `parent` String, `service` String, `release` String, `host` String, `tags` String,
    `lost` String, `unread_files` Int64, `name` String, `program` String, `command_line` String, `recording` String,
    `allocator` String, `pid` Int64, `parent_pid` Int64, `exec_number` Int64, `start_unix_ns` Int64,
    `start_clock_ns` Int64, `end_clock_ns` Int64, `law` Int64, `charge` Int64, `interval_first` Int64,
    `interval_min` Int64, `interval_max` Int64, `allocated_bytes` Int64, `allocated_bytes_high` Nullable(Int64),
    `allocated_objects` Int64, `allocated_objects_high` Nullable(Int64), `off_bytes` Int64,
    `off_bytes_high` Nullable(Int64), `off_objects` Int64, `off_objects_high` Nullable(Int64),
    `unoffered_bytes` Int64, `unoffered_objects` Int64, `samples` Int64, `sampled_bytes` Int64,
    `size_min` Nullable(Int64), `size_floor` Int64, `recorder_bytes` Int64, `ended` Bool, `running` Bool,
    `end_signal` Int64, `end_reason` Int64, `profiled` Bool, `unprofiled_reason` Int64, `open_threads` Int64,
    `unknown_samples` Int64, `automatic` Bool, `fine_start` Bool, `has_pauses` Bool, `trials_by_interval` Bool,
    `changes` Int64, `fold_missing` Bool, `folded_ns` Int64, `folded_until_ns` Int64, `damaged_chunks` Int64,
    `cut_off` Bool, `lacks` Int64, `misread` Int64, `own_objects` Bool, `forks` Int64, `spawned` Int64,
    `missing_children` Int64, `unseen_execs` Int64, `unseen_example` String, `unseen_reason` Int64, `became` String,
    `became_unseen` Bool, `python` String, `python_known` Bool, `python_frames` Int64, `python_objects` Int64,
    `frames` Int64, `frames_named` Int64, `methods_listed` Bool, `other_events` Int64, `push` String,
    `push_rows` Int64)
  ENGINE = MergeTree ORDER BY (run, push);

-- The attempts that count.
CREATE OR REPLACE VIEW bytepoll_pushes AS
  SELECT min(p.push) AS push FROM processes AS p
   WHERE p.push IN (SELECT push FROM processes GROUP BY push HAVING count() = max(push_rows)) GROUP BY p.run;

-- 1/p - 1 of a sample: it stands for 1/p objects. 0 where it was taken with certainty. `t` is column interval.
CREATE OR REPLACE FUNCTION bytepoll_odds AS (size, charge, t, exact) ->
  if(exact OR t <= 1, 0., 1. / (exp(-(size + charge) * log(1 - 1. / greatest(t, 2))) - 1.));

-- The entries of the table below.
CREATE OR REPLACE FUNCTION bytepoll_quantiles AS () -> [
    1.9599640, 1.9694182, 1.9788377, 1.9882220, 1.9975707, 2.0068834, 2.0161598, 2.0253995, 2.0346021, 2.0437673,
    2.0528948, 2.0619841, 2.0710350, 2.0800471, 2.0890201, 2.0979537, 2.1068476, 2.1157014, 2.1245148, 2.1332876,
    2.1420195, 2.1507102, 2.1593593, 2.1679666, 2.1765318, 2.1850547, 2.1935350, 2.2019723, 2.2103666, 2.2187174,
    2.2270245, 2.2352877, 2.2435068, 2.2516814, 2.2598114, 2.2678965, 2.2759365, 2.2839312, 2.2918803, 2.2997835,
    2.3076408, 2.3154518, 2.3232164, 2.3309343, 2.3386053, 2.3462293, 2.3538061, 2.3613353, 2.3688170, 2.3762508,
    2.3836365, 2.3909741, 2.3982633, 2.4055040, 2.4126959, 2.4198390, 2.4269330, 2.4339779, 2.4409734, 2.4479194,
    2.4548157, 2.4616623, 2.4684590, 2.4752056, 2.4819021, 2.4885483, 2.4951440, 2.5016893, 2.5081839, 2.5146278,
    2.5210208, 2.5273629, 2.5336540, 2.5398941, 2.5460829, 2.5522205, 2.5583067, 2.5643416, 2.5703250, 2.5762569,
    2.5821372, 2.5879659, 2.5937430, 2.5994684, 2.6051421, 2.6107640, 2.6163341, 2.6218525, 2.6273191, 2.6327339,
    2.6380968, 2.6434080, 2.6486673, 2.6538749, 2.6590307, 2.6641347, 2.6691870, 2.6741876, 2.6791365, 2.6840338,
    2.6888795, 2.6936736, 2.6984162, 2.7031074, 2.7077472, 2.7123357, 2.7168729, 2.7213589, 2.7257938, 2.7301777,
    2.7345106, 2.7387926, 2.7430239, 2.7472045, 2.7513344, 2.7554139, 2.7594429, 2.7634217, 2.7673503, 2.7712288,
    2.7750573, 2.7788361, 2.7825650, 2.7862444, 2.7898743, 2.7934549, 2.7969863, 2.8004685, 2.8039019, 2.8072864,
    2.8106222, 2.8139096, 2.8171485, 2.8203392, 2.8234819, 2.8265766, 2.8296235, 2.8326228, 2.8355747, 2.8384792,
    2.8413366, 2.8441471, 2.8469107, 2.8496276, 2.8522981, 2.8549222, 2.8575002, 2.8600322, 2.8625185, 2.8649591,
    2.8673542, 2.8697040, 2.8720088, 2.8742686, 2.8764837, 2.8786543, 2.8807804, 2.8828623, 2.8849003, 2.8868943,
    2.8888448, 2.8907517, 2.8926154, 2.8944360, 2.8962137, 2.8979487, 2.8996411, 2.9012912, 2.9028991, 2.9044651,
    2.9059893, 2.9074719, 2.9089131, 2.9103131, 2.9116721, 2.9129902, 2.9142677, 2.9155048, 2.9167016, 2.9178584,
    2.9189753, 2.9200525, 2.9210902, 2.9220887, 2.9230480, 2.9239684, 2.9248501, 2.9256933, 2.9264981, 2.9272648,
    2.9279936, 2.9286845, 2.9293379, 2.9299539, 2.9305328, 2.9310746, 2.9315796, 2.9320480, 2.9324799, 2.9328756,
    2.9332353, 2.9335591, 2.9338472, 2.9340998, 2.9343171, 2.9344993, 2.9346466, 2.9347591, 2.9348371, 2.9348807,
    2.9348901, 2.9348655, 2.9348071, 2.9347150, 2.9345895, 2.9344307, 2.9342389, 2.9340141, 2.9337566, 2.9334666,
    2.9331442, 2.9327897, 2.9324031, 2.9319847, 2.9315347, 2.9310532, 2.9305404, 2.9299964, 2.9294216, 2.9288160,
    2.9281798, 2.9275132, 2.9268163, 2.9260894, 2.9253326, 2.9245461, 2.9237300, 2.9228846, 2.9220099, 2.9211062,
    2.9201737, 2.9192124, 2.9182226, 2.9172044, 2.9161581, 2.9150837, 2.9139815, 2.9128515, 2.9116940, 2.9105092,
    2.9092971, 2.9080580, 2.9067920, 2.9054992, 2.9041800, 2.9028343, 2.9014623, 2.9000643, 2.8986404, 2.8971907,
    2.8957154, 2.8942146, 2.8926885, 2.8911373, 2.8895611, 2.8879601, 2.8863344, 2.8846841, 2.8830095, 2.8813106,
    2.8795877, 2.8778409, 2.8760702, 2.8742760, 2.8724583, 2.8706172, 2.8687530, 2.8668657, 2.8649555, 2.8630226,
    2.8610671, 2.8590892, 2.8570889, 2.8550665, 2.8530220, 2.8509557, 2.8488676, 2.8467579, 2.8446267, 2.8424743,
    2.8403006, 2.8381059, 2.8358903, 2.8336539, 2.8313969, 2.8291194, 2.8268215, 2.8245034, 2.8221652, 2.8198070,
    2.8174290
  ];

-- How many standard deviations above its mean the .975 quantile of the Pearson III distribution of this skewness lies:
-- the table of duckdb.sql, which says more of it.
CREATE OR REPLACE FUNCTION bytepoll_quantile AS (skewness) ->
  if(skewness >= 6, 2.8174290, arrayElement(bytepoll_quantiles(), 1 + toUInt32(floor(least(skewness, 5.99) * 50)))
     + (skewness * 50 - floor(skewness * 50))
       * (arrayElement(bytepoll_quantiles(), 2 + toUInt32(floor(least(skewness, 5.99) * 50)))
          - arrayElement(bytepoll_quantiles(), 1 + toUInt32(floor(least(skewness, 5.99) * 50)))));

-- N3's upper limit of bytes, as in duckdb.sql: of `sampled`, the sum of the sizes of the samples, and of the sums c1 of
-- size * odds, c2 of size^2 * odds * (1 + odds), c3 of size^3 * odds * (1 + odds) * (1 + 2 * odds); `t` is the largest T.
CREATE OR REPLACE FUNCTION bytepoll_upper_of AS (mean, variance, third) ->
  mean + sqrt(variance) * bytepoll_quantile(greatest(2 * sqrt(variance) / mean, third / pow(variance, 1.5)));
CREATE OR REPLACE FUNCTION bytepoll_upper AS (sampled, c1, c2, c3, t) ->
  if(t <= 1, sampled, sampled + bytepoll_upper_of(c1 - 1 / log(1 - 1. / greatest(t, 2)),
     c2 + pow(1 / log(1 - 1. / greatest(t, 2)), 2), c3 + 2 * pow(-1 / log(1 - 1. / greatest(t, 2)), 3)));

-- The samples of the runs with what recordings say of them, the innermost function, and the weight.
CREATE OR REPLACE VIEW bytepoll_samples AS
  SELECT s.* EXCEPT (push), p.service AS service, p.release AS release, p.host AS host, p.tags AS tags, p.run AS run,
         fromUnixTimestamp64Nano(p.start_unix_ns + s.time_ns, 'UTC') AS at,
         fromUnixTimestamp64Nano(p.start_unix_ns + coalesce(s.freed_ns, p.end_clock_ns - p.start_clock_ns), 'UTC') AS until,
         coalesce(f.function, '') AS function, f.file AS file, f.line AS line, f.module AS module,
         bytepoll_odds(s.size, s.charge, s.interval, s.exact) AS odds
    FROM (SELECT * FROM samples WHERE push IN (SELECT push FROM bytepoll_pushes)) AS s
    JOIN (SELECT process, push, service, release, host, tags, run, start_unix_ns, start_clock_ns, end_clock_ns
            FROM processes) AS p
      ON p.process = s.process AND p.push = s.push
    LEFT JOIN (SELECT DISTINCT stack, frame FROM stacks WHERE position = 0) AS k ON k.stack = s.stack
    LEFT JOIN (SELECT frame, function, file, line, module FROM frames ORDER BY ALL LIMIT 1 BY frame) AS f
      ON f.frame = k.frame
  SETTINGS join_use_nulls = 0, aggregate_functions_null_for_empty = 0;

-- What is live, by service, release and function: as bytepoll_top of duckdb.sql.
CREATE OR REPLACE VIEW bytepoll_top AS
  SELECT service, release, function, sum(s.samples) AS samples, sum(s.samples * s.size * (1 + s.odds)) AS bytes,
         sqrt(sum(s.samples * pow(s.size, 2) * s.odds * (1 + s.odds))) AS bytes_error,
         sum(s.samples * (1 + s.odds)) AS objects, sqrt(sum(s.samples * s.odds * (1 + s.odds))) AS objects_error,
         toFloat64(sum(s.samples * s.size)) AS bytes_least,
         if(max(s.odds > 0 AND s.size + s.charge >= s.interval), NULL,
            bytepoll_upper(toFloat64(sum(s.samples * s.size)), sum(s.samples * s.size * s.odds),
                           sum(s.samples * pow(s.size, 2) * s.odds * (1 + s.odds)),
                           sum(s.samples * pow(s.size, 3) * s.odds * (1 + s.odds) * (1 + 2 * s.odds)), any(l.largest)))
           AS bytes_high
    FROM bytepoll_samples AS s
    JOIN (SELECT service, release, max(greatest(interval_first, interval_max)) AS largest FROM processes
           WHERE push IN (SELECT push FROM bytepoll_pushes) GROUP BY service, release) AS l USING (service, release)
   WHERE s.live GROUP BY service, release, function ORDER BY bytes DESC
  SETTINGS join_use_nulls = 0, aggregate_functions_null_for_empty = 0;

-- The same at a moment: SELECT * FROM bytepoll_live(moment = '2026-01-31 12:00:00').
CREATE OR REPLACE VIEW bytepoll_live AS
  SELECT service, release, function, sum(s.samples) AS samples, sum(s.samples * s.size * (1 + s.odds)) AS bytes,
         sqrt(sum(s.samples * pow(s.size, 2) * s.odds * (1 + s.odds))) AS bytes_error,
         sum(s.samples * (1 + s.odds)) AS objects, sqrt(sum(s.samples * s.odds * (1 + s.odds))) AS objects_error,
         toFloat64(sum(s.samples * s.size)) AS bytes_least,
         if(max(s.odds > 0 AND s.size + s.charge >= s.interval), NULL,
            bytepoll_upper(toFloat64(sum(s.samples * s.size)), sum(s.samples * s.size * s.odds),
                           sum(s.samples * pow(s.size, 2) * s.odds * (1 + s.odds)),
                           sum(s.samples * pow(s.size, 3) * s.odds * (1 + s.odds) * (1 + 2 * s.odds)), any(l.largest)))
           AS bytes_high
    FROM bytepoll_samples AS s
    JOIN (SELECT service, release, max(greatest(interval_first, interval_max)) AS largest FROM processes
           WHERE push IN (SELECT push FROM bytepoll_pushes) GROUP BY service, release) AS l USING (service, release)
   WHERE s.at <= {moment:DateTime64(9, 'UTC')}
     AND (s.until > {moment:DateTime64(9, 'UTC')} OR (s.freed_ns IS NULL AND s.until = {moment:DateTime64(9, 'UTC')}))
   GROUP BY service, release, function ORDER BY bytes DESC
  SETTINGS join_use_nulls = 0, aggregate_functions_null_for_empty = 0;
