-- What `make demo` profiles: an in-memory database is built, indexed and queried.
PRAGMA cache_size = -200000;
CREATE TABLE item (id INTEGER PRIMARY KEY, k TEXT, v TEXT, x REAL);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO item
SELECT i, printf('key-%08d', (i * 2654435761) % 1000003), hex(randomblob(20)), i / 2.0 FROM n;
CREATE INDEX item_k ON item (k);
SELECT count(*), sum(length(v)) FROM item WHERE k LIKE 'key-0000%';
SELECT count(*) FROM (SELECT group_concat(v) FROM item GROUP BY substr(k, 1, 9));
SELECT count(*) FROM item AS a JOIN item AS b ON a.k = b.k WHERE a.id % 7 = 0;
SELECT length(json_group_array(json_object('k', k, 'v', v))) FROM item WHERE id < 30000;
