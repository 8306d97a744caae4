# SPDX-License-Identifier: MIT
# Bootstrapped without accounts, then a server with a thread for each connection.
mkdir data
mariadbd --no-defaults --bootstrap --user=root --datadir=$PWD/data --skip-grant-tables --innodb-log-file-size=4M > /dev/null 2>&1 <<END
create database if not exists d;
END
mariadbd --no-defaults --user=root --datadir=$PWD/data --skip-grant-tables --innodb-log-file-size=4M --bind-address=127.0.0.1 	--port=$PORT --socket=$PWD/socket --pid-file=$PWD/pid > log 2>&1 & process=$!
ready
for client in 1 2; do /usr/bin/mariadb --no-defaults -S $PWD/socket -N d <<END
create table t$client (i int primary key, m varchar(40)) engine=innodb;
insert into t$client select seq, md5(seq) from seq_1_to_5000;
select count(distinct substr(m, 1, 2)), sum(i) from t$client;
select m from t$client order by m limit 2;
END
done
kill $process; wait $process; echo status $?
