-- A table, an index, a join, aggregates, a big string: some 40 MB allocated, 10 MB live.
PRAGMA cache_size = -200000;
CREATE TABLE item (id INTEGER PRIMARY KEY, k TEXT, v TEXT, x REAL);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO item
  SELECT i, printf('key-%08d', (i * 2654435761) % 1000003),
         printf('%08x%08x%08x%08x', i * 40503, i * 30011, i * 20021, i * 10007), i / 2.0
  FROM n;
CREATE INDEX item_k ON item (k);
SELECT count(*), sum(length(v)) FROM item WHERE k LIKE 'key-0000%';
SELECT count(*) FROM (SELECT group_concat(v) FROM item GROUP BY substr(k, 1, 9));
SELECT count(*) FROM item AS a JOIN item AS b ON a.k = b.k WHERE a.id % 7 = 0;
SELECT length(json_group_array(json_object('k', k, 'v', v))) FROM item WHERE id < 5000;
CREATE TABLE kept AS SELECT k, v || v || v AS w FROM item WHERE id % 3 = 0;
DELETE FROM item WHERE id % 2 = 0;
VACUUM;
