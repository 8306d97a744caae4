-- SPDX-License-Identifier: MIT
-- Macros for people who ask DuckDB themselves (docs/fleet.md): `.read duckdb.sql`, then
--
--     SELECT * FROM bytepoll_top('/srv/fleet') WHERE service = 'shop' LIMIT 20;
--
-- Estimates are those of Horvitz and Thompson (docs/statistics.md), with standard errors, and bytes with two limits:
-- what was sampled, which the truth is not below, and N3's upper limit. `bytepoll fleet` makes intervals, and narrower
-- ones, from exact totals. Functions are the innermost ones, allocators included. Nothing is written anywhere.

-- 1/p - 1 of a sample: it stands for 1/p objects. 0 where it was taken with certainty.
CREATE OR REPLACE MACRO bytepoll_odds(size, charge, "interval", exact) AS
  CASE WHEN exact OR "interval" <= 1 THEN 0.0
       ELSE 1.0 / (exp(-(size + charge) * ln(1 - 1.0 / "interval")) - 1.0) END;

-- How many standard deviations above its mean the .975 quantile of the Pearson III distribution (a shifted gamma) of
-- this skewness lies: a table in steps of .02, between whose entries a straight line is at most 6.5e-6 too low. Beyond
-- a skewness of 6 the quantile only falls, and the last entry stands for it. A test holds every entry against the gamma
-- distribution.
CREATE OR REPLACE MACRO bytepoll_quantiles() AS ([
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
  ]);
CREATE OR REPLACE MACRO bytepoll_quantile(skewness) AS
  CASE WHEN skewness >= 6 THEN bytepoll_quantiles()[301]
       ELSE bytepoll_quantiles()[1 + floor(skewness * 50)::INT]
            + (skewness * 50 - floor(skewness * 50))
              * (bytepoll_quantiles()[2 + floor(skewness * 50)::INT] - bytepoll_quantiles()[1 + floor(skewness * 50)::INT])
  END;

-- N3's upper limit of bytes (docs/statistics.md, "The interval N3"): above it the truth is in 2.5 % of all cases at most.
-- `sampled` is the sum of the sizes of the samples; c1, c2, c3 are those of size * odds, size^2 * odds * (1 + odds) and
-- size^3 * odds * (1 + odds) * (1 + 2 * odds); `interval` is the largest T that was in force, also where there is no
-- sample. Not for samples of T bytes and more that were not taken with certainty (law bernoulli).
CREATE OR REPLACE MACRO bytepoll_upper_of(mean, variance, third) AS
  mean + sqrt(variance) * bytepoll_quantile(greatest(2 * sqrt(variance) / mean, third / pow(variance, 1.5)));
CREATE OR REPLACE MACRO bytepoll_upper(sampled, c1, c2, c3, "interval") AS
  CASE WHEN "interval" <= 1 THEN sampled
       ELSE sampled + bytepoll_upper_of(c1 - 1 / ln(1 - 1.0 / "interval"), c2 + pow(1 / ln(1 - 1.0 / "interval"), 2),
                                        c3 + 2 * pow(-1 / ln(1 - 1.0 / "interval"), 3)) END;

-- The folders of a store that count: of a run that goes on the newest version, until the run is there as it ended.
CREATE OR REPLACE MACRO bytepoll_folders(store) AS TABLE
  SELECT folder FROM (SELECT regexp_replace(file, '/processes[.]parquet$', '') AS folder,
                             regexp_replace(folder, '(^|/)([0-9a-f]{32})[.][0-9]{10}$', '\1\2') AS run
                        FROM glob(store || '/**/processes.parquet'))
 QUALIFY row_number() OVER (PARTITION BY run ORDER BY folder = run DESC, folder DESC) = 1;

-- The processes, each once: of one that lies in several folders, as a copy, or in a sum and beside it, the first one counts,
-- and a version of a run that went on last.
-- (`place`: the file of its samples.)
CREATE OR REPLACE MACRO bytepoll_placed(store) AS TABLE
  SELECT * EXCLUDE (filename), regexp_replace(filename, 'processes[.]parquet$', 'samples.parquet') AS place
    FROM read_parquet(store || '/**/processes.parquet', filename = true)
   WHERE filename IN (SELECT folder || '/processes.parquet' FROM bytepoll_folders(store))
 QUALIFY row_number() OVER (PARTITION BY process ORDER BY regexp_matches(filename, '[.][0-9]{10}/processes[.]parquet$'), filename) = 1;

CREATE OR REPLACE MACRO bytepoll_processes(store) AS TABLE SELECT * EXCLUDE (place) FROM bytepoll_placed(store);

-- The samples of a store with what recordings say of them, the innermost function, and the weight. `until` is when it was
-- freed, or the end of what was recorded of its process.
CREATE OR REPLACE MACRO bytepoll_samples(store) AS TABLE
  SELECT s.* EXCLUDE (filename), p.service, p.release, p.host, p.tags, p.run,
         make_timestamp_ns(p.start_unix_ns + s.time_ns) AS at,
         make_timestamp_ns(p.start_unix_ns + coalesce(s.freed_ns, p.end_clock_ns - p.start_clock_ns)) AS until,
         coalesce(f.function, '') AS function, f.file, f.line, f.module,
         bytepoll_odds(s.size, s.charge, s.interval, s.exact) AS odds
    FROM read_parquet(store || '/**/samples.parquet', filename = true) s
    JOIN bytepoll_placed(store) p ON p.process = s.process AND p.place = s.filename
    LEFT JOIN (SELECT DISTINCT stack, frame FROM read_parquet(store || '/**/stacks.parquet') WHERE position = 0) k
      ON k.stack = s.stack
    LEFT JOIN (SELECT DISTINCT ON (frame) * FROM read_parquet(store || '/**/frames.parquet')) f
      ON f.frame = k.frame;

-- What was live at a moment of a day (a timestamp in UTC; NULL: what each run held at its end), by service, release and
-- function: bytes and objects with their standard errors, and limits of the bytes: not below bytes_least, and above
-- bytes_high in 2.5 % at most; without a value where samples of T bytes and more were not taken with certainty. T is the
-- largest of the service's release. Where frees or samples were lost limits say nothing: see `lost` of table processes. Of
-- runs that were summed up by `bytepoll compact` moments are not known: there only NULL means anything.
CREATE OR REPLACE MACRO bytepoll_live(store, moment) AS TABLE
  SELECT service, release, function, sum(samples)::BIGINT AS samples,
         sum(samples * size * (1 + odds)) AS bytes,
         sqrt(sum(samples * pow(size, 2) * odds * (1 + odds))) AS bytes_error,
         sum(samples * (1 + odds)) AS objects,
         sqrt(sum(samples * odds * (1 + odds))) AS objects_error, sum(samples * size)::DOUBLE AS bytes_least,
         CASE WHEN NOT bool_or(odds > 0 AND size + charge >= "interval") THEN
           bytepoll_upper(sum(samples * size)::DOUBLE, sum(samples * size * odds),
                          sum(samples * pow(size, 2) * odds * (1 + odds)),
                          sum(samples * pow(size, 3) * odds * (1 + odds) * (1 + 2 * odds)), any_value(largest)) END
           AS bytes_high
    FROM bytepoll_samples(store)
    JOIN (SELECT service, release, max(greatest(interval_first, interval_max)) AS largest
            FROM bytepoll_processes(store) GROUP BY ALL) USING (service, release)
   WHERE CASE WHEN moment IS NULL THEN live
              ELSE "at" <= moment AND (until > moment OR (freed_ns IS NULL AND until = moment)) END
   GROUP BY service, release, function ORDER BY bytes DESC;

CREATE OR REPLACE MACRO bytepoll_top(store) AS TABLE SELECT * FROM bytepoll_live(store, NULL::TIMESTAMP_NS);
